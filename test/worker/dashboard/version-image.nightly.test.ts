/** Images that are incomplete, too large or labelled, on the pages of their versions. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { newImages, newOwnImages } from "../support/images.ts";
import { textOf } from "../support/page-text.ts";
import { Repository } from "../support/registry.ts";
import { Visitor } from "../support/visitor.ts";

const at = (model: string, number = 1) => `/models/${model}/versions/${number}`;
const read = async (visitor: Visitor, model: string, number?: number) =>
  textOf((await visitor.look(at(model, number))).html);

it("the page shows the unpacked size as well, once a runner has reported it", async () => {
  const { images, model, id } = await newImages({ visibility: "public" });
  await images.push("v1", {});
  await images.publish({ image: "v1" });
  await env.DB.prepare("UPDATE versions SET size = 9876543 WHERE model_id = ?").bind(id).run();
  expect(await read(new Visitor(), model)).toMatch(
    /Image size 5\.1 kB compressed, 9\.9 MB unpacked Platform/,
  );
});

describe("the parts of an image", () => {
  it("an image that is too large for a page is not read", async () => {
    const { client, model, images } = await newImages({ visibility: "public" });
    const repository = new Repository(client, model);
    const { manifest } = await repository.pushImage("small");
    const annotations = { padding: "x".repeat(300_000) };
    await images.put("large", JSON.stringify({ ...JSON.parse(manifest), annotations }));
    await images.publish({ image: "large" });
    expect(await read(new Visitor(), model)).toContain("too large to list here");
  });
});

it.each([
  ["its manifest", "DELETE FROM registry_manifests WHERE model_id = ?"],
  ["its configuration", "DELETE FROM registry_links WHERE model_id = ?"],
])("an image without %s is shown with what to do", async (_, statement) => {
  const { visitor, images, model, id } = await newOwnImages({ visibility: "public" });
  await images.push("v1", {});
  await images.publish({ image: "v1" });
  expect(await read(new Visitor(), model)).not.toContain("no longer in the registry");
  await env.DB.prepare(statement).bind(id).run();
  expect(await read(visitor, model)).toContain(
    "no longer in the registry. Only runners that already have it can run it. Push the same image again",
  );
  expect(await read(new Visitor(), model)).toContain("Ask the owner to push it again");
});

it("the overview of a model without one shows what the labels of its image say", async () => {
  const { images, model } = await newImages({ visibility: "public" });
  await images.push("v1", {
    Labels: {
      "org.opencontainers.image.description": "Draws **owls**.",
      "org.opencontainers.image.documentation": "https://example.com/owls",
      "org.opencontainers.image.url": "javascript:alert(1)",
    },
  });
  await images.publish({ image: "v1" });
  const { html } = await new Visitor().look(`/models/${model}/overview`);
  expect(html).toContain("Draws <strong>owls</strong>.");
  expect(textOf(html)).toContain("Documentation on example.com");
});
