/** The page of a version whose image is in the deployment's registry. */
import { describe, expect, it } from "vitest";
import { ORIGIN } from "../support/client.ts";
import { newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { registered } from "../support/fleet.ts";
import { newImages, newOwnImages } from "../support/images.ts";
import { textOf } from "../support/page-text.ts";
import { Repository, randomBytes } from "../support/registry.ts";
import type { PollChanges } from "../support/runner.ts";
import { setVariable } from "../support/variables.ts";
import { Visitor } from "../support/visitor.ts";

const HOST = new URL(ORIGIN).host;

const at = (model: string, number = 1) => `/models/${model}/versions/${number}`;
const read = async (visitor: Visitor, model: string, number?: number) =>
  textOf((await visitor.look(at(model, number))).html);

it("the page shows the image's size and platform, and that it waits for a first start", async () => {
  const { images, model } = await newImages({ visibility: "public" });
  await images.push("v1", { Entrypoint: ["vllm", "serve"] });
  await images.publish({ image: "v1" });
  await images.publish({ image: "v1", compatibilities: { vendora_chat_completions: true } });
  const page = (n: number) => read(new Visitor(), model, n);
  const { html } = await new Visitor().look(at(model));
  expect(textOf(html)).toMatch(
    /Not started yet.*Image size 5\.1 kB compressed Platform.*linux\/amd64/s,
  );
  expect(html).toContain(`href="/models/${model}?version=1"`);
  expect(await page(2)).not.toContain("Not started yet");
});

describe("the parts of an image", () => {
  it("the page shows the download command, and each layer and label", async () => {
    const { client, model, images } = await newImages({ visibility: "public" });
    const layers = [randomBytes(1_000), randomBytes(2_500_000)];
    const labels = {
      "run.cog.version": "0.17.0",
      "run.cog.openapi_schema": '{"secret of the document": 1}',
      long: `${"l".repeat(300)}end`,
      hostile: "<script>alert(1)</script>",
    };
    const { digest } = await new Repository(client, model).pushImage("v1", { layers, labels });
    const schemas = { prediction: { input: {}, output: {} } };
    await images.publish({ image: "v1", schemas });
    const { html } = await new Visitor().look(at(model));
    const text = textOf(html);
    expect(text).toContain(`docker pull ${HOST}/${model}@${digest}`);
    expect(text).toMatch(
      /2 layers Digest Compressed sha256:[0-9a-f]{64} 1 kB sha256:[0-9a-f]{64} 2\.5 MB/,
    );
    expect(text).toContain("4 labels");
    expect(text).toContain(`long ${"l".repeat(160)}… ${"l".repeat(300)}end`);
    expect(text).toContain("OpenAPI document (29 characters)");
    expect(html).not.toContain("secret of the document");
    expect(html).not.toContain("<script>alert");
  });

  it("the page hides the parts from users who may run the image and not download it", async () => {
    const { images, model } = await newImages({ visibility: "restricted" });
    await images.push("v1", { Labels: { inner: "matters" } });
    await images.publish({ image: "v1" });
    const { visitor } = await newDashboardUser();
    for (const one of [new Visitor(), visitor]) {
      const text = await read(one, model);
      expect(text).toContain("Image size");
      for (const hidden of ["docker pull", "matters", "1 layer"])
        expect(text).not.toContain(hidden);
    }
  });
});

it("the page counts runners for the owner, names them for operators, and hides them from others", async () => {
  const { hardware, name, runner } = await registered();
  const { visitor, client, images, model, id } = await newOwnImages({
    visibility: "public",
    hardware_identifier: hardware,
  });
  const digest = await images.push("v1", {});
  await images.publish({ image: "v1", configuration: { variable_names: ["HF_TOKEN"] } });
  // Variables are part of the container's key: another value is another container.
  await setVariable(client, model, "HF_TOKEN", "x");
  expect(await read(visitor, model)).toContain("Already on No runner");
  const run = (await client.create({ model, input: {} })).body.id;
  const { keys } = await runner.take();
  await client.cancel(run);
  const polling = async (claim: PollChanges, ...checks: (() => Promise<void>)[]) => {
    const leaving = new AbortController();
    const poll = runner.poll(claim, leaving.signal).catch(() => {});
    for (const check of checks) await eventually(check);
    leaving.abort();
    await poll;
  };
  const says = (who: Visitor, words: string) => async () =>
    expect(await read(who, model)).toContain(`Already on ${words}`);
  const { visitor: operator } = await newOperator();
  const held = [`auspex/models/${id}@${digest}`];
  await polling(
    { images: held },
    says(visitor, "1 runner, 0 warm"),
    says(operator, `${name} Hardware`),
  );
  await polling(
    { images: held, warm: [keys.container] },
    says(visitor, "1 runner, 1 warm"),
    says(operator, `${name} (running) Hardware`),
  );
  expect(await read(new Visitor(), model)).not.toContain("Already on");
});
