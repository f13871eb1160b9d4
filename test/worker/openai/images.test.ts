/** Images of a Cog model: its input, its files in the answer, and their errors. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { expectErrorBody } from "../../published/validate.ts";
import { sized } from "../../support/sized.ts";
import type { Client } from "../support/client.ts";
import { bytesOf, MIB, storeFile } from "../support/files.ts";
import { dataOf, failed, finish, newOpenAi } from "../support/openai.ts";
import type { FakeRunner } from "../support/runner.ts";

const GENERATIONS = "/v1/vendora/images/generations";
const FILE = { type: "string", format: "uri" };
const INPUT = {
  type: "object",
  required: ["prompt"],
  properties: { prompt: { type: "string" }, num_outputs: { type: "integer" }, image: FILE },
};
const PICTURE = bytesOf(MIB + 1);

let client: Client;
let model: string;
let fleet: FakeRunner;

beforeEach(async () => {
  ({ client, model, fleet } = await newOpenAi({
    configuration: { interface: "cog" },
    input: INPUT,
  }));
});

const generate = (more: object = {}) =>
  client.post(GENERATIONS, { model, prompt: "Hills", ...more });

/** Returns the answer to a call whose run has `outputs`, which can store files with `store`. */
async function answered(
  more: object,
  outputs: (store: (bytes: BodyInit, name?: string) => Promise<string>) => Promise<Json[]>,
): Promise<Response> {
  const calling = generate(more);
  const { job, channel } = await fleet.work();
  await finish(channel, await outputs((bytes, name) => storeFile(fleet, job, bytes, name)));
  return calling;
}

interface Answer {
  data: { url?: string; b64_json?: string }[];
}

describe("an answer", () => {
  test("an answer has each file as a URL and as base64, from lists and from single outputs", async () => {
    const response = await answered({ n: 2 }, async (store) => [
      [await store(PICTURE)],
      await store("2"),
    ]);
    expect(response.status).toBe(200);
    expect(response.headers.get("auspex-prediction-id")).toMatch(/./);
    const { data } = await response.json<Answer>();
    expect(data.map(({ b64_json }) => b64_json)).toEqual([PICTURE.toBase64(), btoa("2")]);
    for (const { url = "" } of data) expect((await client.fetch(url)).status).toBe(200);
  });

  test("an answer has base64 only of files of its own prediction", async () => {
    const other = await (
      await answered({}, async (store) => [await store("other")])
    ).json<Answer>();
    const url = other.data[0]?.url ?? "";
    const both = await answered({}, async () => [url]);
    expect(await both.json<Answer>()).toMatchObject({ data: [{ url }] });
    const base64 = await answered({ response_format: "b64_json" }, async () => [url]);
    expect(base64.status).toBe(502);
    expectErrorBody(await base64.json());
  });

  const NO_IMAGES: [string, Json][] = [
    ["text", "hills"],
    ["numbers", [1, 2]],
    ["nothing", []],
    ["more than a call asks for", Array(101).fill("https://images.invalid/1.png")],
  ];
  test.each(NO_IMAGES.slice(0, sized(1, NO_IMAGES.length)))(
    "an output of %s is a model_error",
    async (_, output) => {
      const response = await answered({}, async () => [output]);
      expect(response.status).toBe(502);
      expect(await response.json()).toMatchObject({ error: { code: "model_error" } });
      expect(response.headers.get("x-should-retry")).toBe("false");
    },
  );
});

describe("a stream", () => {
  test("a stream of images has an event for each file, and one for the failure", async () => {
    const calling = generate({ stream: true });
    const { job, channel } = await fleet.work();
    const url = await storeFile(fleet, job, "1");
    await channel.report([{ event: "output", data: url }], failed("external", "out of paint"));
    const [first, last] = await dataOf(await calling);
    expect(first).toMatchObject({ type: "image_generation.completed", b64_json: btoa("1") });
    expect(last).toMatchObject({ type: "error", error: { message: "out of paint" } });
  });

  test("a stream of images ends with an error after 100 files", async () => {
    const calling = generate({ stream: true });
    const { job, channel } = await fleet.work();
    const data = await storeFile(fleet, job, "1");
    await finish(channel, Array(101).fill(data));
    const events = await dataOf(await calling);
    expect(events).toHaveLength(101);
    expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "model_error" } });
  });

  test("a stream of images that fails before its first file is an error with a status", async () => {
    const calling = generate({ stream: true });
    const { channel } = await fleet.work();
    await channel.report([], failed("external", "out of paint"));
    const response = await calling;
    expect(response.status).toBe(502);
    expectErrorBody(await response.json());
  });
});

test("a parameter that the model's schema does not have is refused before anything runs", async () => {
  const response = await generate({ size: "512x512" });
  expect(response.status).toBe(400);
  const body = await response.json<{ error: { message: string } }>();
  expectErrorBody(body);
  expect(body).toMatchObject({ error: { code: "unsupported_parameter", param: "size" } });
  expect(body.error.message).toContain("'size' cannot be '512x512': the model's input schema has");
  expect(await client.ok("GET", "/v1/predictions")).toMatchObject({ items: [] });
});

test("an edit in JSON gives the model its image, and is refused if it names the image twice", async () => {
  const path = "/v1/vendora/images/edits";
  const body = { model, prompt: "Night", images: [{ image_url: "https://example.com/a.png" }] };
  const calling = client.post(path, body);
  const { job, channel } = await fleet.work();
  expect(job.input).toEqual({ prompt: "Night", image: "https://example.com/a.png" });
  await finish(channel, [await storeFile(fleet, job, "1")]);
  expect((await calling).status).toBe(200);
  const twice = await client.json("POST", path, { ...body, image: "https://example.com/a.png" });
  expect(twice).toMatchObject({ status: 400, body: { error: { param: "image" } } });
  const byId = { ...body, images: [{ file_id: "file-1" }] };
  expect((await client.json("POST", path, byId)).status).toBe(422);
});
