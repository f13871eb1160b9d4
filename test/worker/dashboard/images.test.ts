/** `/account/images`: what an account has pushed, what keeps it, and what deletes it. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { newOwnImages } from "../support/images.ts";
import { textOf } from "../support/page-text.ts";
import { planOf, statementsOf } from "../support/query-plans.ts";
import { bytesOf, digestOf } from "../support/registry.ts";
import type { Visitor } from "../support/visitor.ts";

const LIST = "/account/images";
const read = async (visitor: Visitor, path = LIST) => textOf((await visitor.look(path)).html);
const remove = async (visitor: Visitor, model: string, reference: string) => {
  await visitor.look(LIST);
  return visitor.send(`/models/${model}/images/remove`, { reference });
};

describe("an image", () => {
  it("an image is shown with its tags, size and the versions that run it, newest first", async () => {
    const { visitor, model, images } = await newOwnImages();
    const first = await images.push("v1", {});
    await images.publish({ image: "v1" });
    await images.publish({ image: "v1" });
    const second = await images.push("v2", {});
    const { html } = await visitor.look(LIST);
    expect(html.indexOf(second)).toBeLessThan(html.indexOf(first));
    expect(html).toContain(`href="/models/${model}/versions/2"`);
    expect(textOf(html)).toMatch(/v2.*not used.*v1.*used by versions 2 , 1/s);
    expect(textOf(html)).toMatch(/1\d(\.\d)? kB of 500 GB used/);
    expect(textOf(html).match(/5\.\d kB/g)).toHaveLength(2);
  });

  it("an image for several platforms is one entry, with the size of all of them", async () => {
    const { visitor, images } = await newOwnImages();
    const amd = await images.push("part", {});
    const index = await images.put(
      "all",
      JSON.stringify({
        schemaVersion: 2,
        mediaType: MEDIA_TYPES.ociIndex,
        manifests: [images.entry(amd)],
      }),
      MEDIA_TYPES.ociIndex,
    );
    // A part with a tag of its own is also an image.
    expect(await read(visitor)).toContain("part");
    await remove(visitor, await modelOf(index), "part");
    const { html } = await visitor.look(LIST);
    expect(html).not.toContain(`<code class="clip">${amd}</code>`);
    expect(html).toContain(`<code class="clip">${index}</code>`);
    expect(textOf(html)).toMatch(/5\.\d kB, multi-platform/);
  });
});

/** Returns the model whose repository has the manifest. */
const modelOf = async (digest: string) =>
  (await env.DB.prepare(
    `SELECT username || '/' || models.name FROM registry_manifests
      JOIN models ON models.id = model_id JOIN users ON users.id = owner_id WHERE digest = ?`,
  )
    .bind(digest)
    .first<string>("username || '/' || models.name")) ?? expect.fail("no model has it");

describe("removing", () => {
  it("a removed tag leaves the image", async () => {
    const { visitor, model, images } = await newOwnImages();
    const digest = await images.push("v1", {});
    expect(await remove(visitor, model, "v1")).toMatchObject({ status: 303, location: LIST });
    const { html } = await visitor.look(LIST);
    expect(html).toContain("Tag v1 removed.");
    expect(html).toContain(digest);
    expect(textOf(html)).toContain("not used, deleted within a week");
  });

  it("a removed image goes with its tags, unless a version runs it", async () => {
    const { visitor, model, images } = await newOwnImages();
    const kept = await images.push("v1", {});
    await images.publish({ image: "v1" });
    const gone = await images.push("v2", {});
    expect((await remove(visitor, model, gone)).status).toBe(303);
    const refused = await remove(visitor, model, kept);
    expect(refused.status).toBe(409);
    expect(textOf(refused.html)).toContain(`${kept} is used by version 1 of this model`);
    const { html } = await visitor.look(LIST);
    expect(html).not.toContain(gone);
    expect(html).toContain(kept);
    expect(html).not.toContain("Delete image");
  });

  it("an image that predictions of a deleted version may need is kept, with the date of its end", async () => {
    const { visitor, client, model, images } = await newOwnImages();
    await images.push("v1", {});
    await images.publish({ image: "v1" });
    await client.ok("DELETE", `/v1/models/${model}/versions/1`);
    expect(await read(visitor)).toMatch(/kept until \d{4}-.* for predictions of a deleted version/);
  });
});

it("the list of images has pages, each a range of an index", async () => {
  const { visitor, id, user_id } = await newOwnImages();
  await env.DB.batch(
    [...Array(30).keys()].flatMap((n) => {
      const digest = digestOf(bytesOf(`${id} ${n}`));
      return [
        env.DB.prepare("INSERT INTO registry_blobs VALUES (?, ?, 10, 0)").bind(digest, digest),
        env.DB.prepare(
          `INSERT INTO registry_manifests (model_id, digest, user_id, media_type, size, named, used_at, pushed_at)
            VALUES (?, ?, ?, '${MEDIA_TYPES.ociManifest}', 10, 0, 0, ?)`,
        ).bind(id, digest, user_id, n + 1),
      ];
    }),
  );
  const statements = await statementsOf(async () => {
    const { html } = await visitor.look(LIST);
    expect(html.match(/class="bar image-names"/g)).toHaveLength(25);
    const [, next = ""] = /href="([^"]+)" rel="next"/.exec(html) ?? [];
    const second = await visitor.look(next);
    expect(second.html.match(/class="bar image-names"/g)).toHaveLength(5);
    expect(second.html).toContain('rel="prev"');
  });
  const [list] = statements.filter((sql) => sql.includes("naming"));
  const plan = await planOf(list ?? expect.fail("it was not asked for"));
  expect(plan).toContainEqual(
    expect.stringMatching(/SEARCH registry_manifests USING INDEX registry_manifests_owner/),
  );
  expect(
    plan.filter((step) => /^SCAN (registry|versions|models)|TEMP B-TREE FOR ORDER/.test(step)),
  ).toEqual([]);
});
