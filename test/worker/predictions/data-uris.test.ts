/** Long data URIs in a body: each becomes a file of the prediction, and its runner writes it back. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { findBase64Data } from "../../../src/domain/files/json-data-uris.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { PredictionWithIO } from "../../../src/protocol/prediction.ts";
import { sized } from "../../support/sized.ts";
import type { Client } from "../support/client.ts";
import { bytesOf, digestOf, keysBelow, nobody, readFile } from "../support/files.ts";
import { countRows } from "../support/objects.ts";
import { answer, completion, newOpenAi } from "../support/openai.ts";
import type { FakeRunner } from "../support/runner.ts";
import { newWorld, type World } from "../support/world.ts";

const LONG = 200_000;
const picture = bytesOf(LONG);
const uriOf = (bytes: Uint8Array, type = "image/png") => `data:${type};base64,${bytes.toBase64()}`;
const uri = uriOf(picture);
const key = { "idempotency-key": "k" };

let world: World;
let client: Client;
let model: string;
let runner: FakeRunner;

beforeEach(async () => {
  world = await newWorld({ input: { type: "object" } });
  ({ client, model } = world);
  runner = await world.runner(9);
});

afterEach(() => vi.restoreAllMocks());

const create = async (input: { [name: string]: Json }, headers = {}) =>
  (await client.create({ model, input }, headers)).body;

const urlIn = ({ input }: PredictionWithIO) => String((input as { image: string }).image);

/** Returns the keys of data URIs in R2 that this test has written. */
const strays = async () => {
  const keys = await keysBelow();
  return keys.filter((one) => /\/(?:data|earlier)-/.test(one) && !before.includes(one));
};
let before: string[] = [];
beforeEach(async () => {
  before = await keysBelow();
});

describe("a long data URI", () => {
  test("a data URI becomes the address of a file, which anybody who has the address can read", async () => {
    const body = await create({ image: uri, text: "a picture" });
    expect(body.input).toEqual({
      image: expect.stringMatching(
        new RegExp(`^https?://[^/]+/v1/files/${body.id}/data-1\\.png\\?expires=\\d+&signature=`),
      ),
      text: "a picture",
    });
    const response = await nobody.fetch(urlIn(body));
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(await digestOf(response)).toBe(await digestOf(picture));
  });

  test("a data URI becomes a file of the job that is marked as a data URI", async () => {
    const { id } = await create({ deep: [{ image: uri }] });
    const job = await runner.take();
    const file = `${id}/data-1.png`;
    const facts = { name: "data-1.png", mime_type: "image/png", size: LONG, data_uri: true };
    expect(job.files).toEqual([{ at: ["deep", 0, "image"], stored: { key: file, ...facts } }]);
    expect(JSON.stringify(job.input).length).toBeLessThan(1_000);
    expect(await digestOf(await readFile(runner, job, file))).toBe(await digestOf(picture));
  });

  test("the file of a data URI goes with the prediction's data", async () => {
    const { id } = await create({ image: uri });
    await client.cancel(id);
    expect(await keysBelow(id)).toEqual([`${id}/data-1.png`]);
    await client.ok("DELETE", `/v1/predictions/${id}`);
    await vi.waitFor(async () => expect(await keysBelow(id)).toEqual([]));
  });

  const UNTOUCHED: [string, Json][] = [
    ["a short data URI", uriOf(bytesOf(90_000))],
    ["a data URI within a text", `Look: ${uri}`],
    ["a data URI that is not base64", `data:text/plain,${"x".repeat(LONG)}`],
    ["a data URI with a blank", `${uri} `],
    ["a data URI without padding", uriOf(bytesOf(LONG)).replace(/=+$/, "")],
    ["a data URI as a name", { [uri]: 1 }],
    ["a data URI without a media type", `data:;base64,${picture.toBase64()}`],
    [
      "a data URI in another case, which a runner could not write back,",
      uri.replace("base64", "Base64"),
    ],
  ];
  test.each(UNTOUCHED.slice(0, sized(2, UNTOUCHED.length)))(
    "%s stays as it is",
    async (_, value) => {
      const body = await create({ value });
      expect(body.input).toEqual({ value });
      expect(await strays()).toEqual([]);
    },
  );

  test("data URIs among others and text of all kinds are found where they are", async () => {
    const sound = bytesOf(LONG + 1, 3);
    const text = 'He said "data:image/png;base64,", and \\"€\\" 😀';
    const input = { text, list: [uri, "", uriOf(sound, "audio/wav"), uri], [text]: text };
    const body = await create(input);
    const { list } = body.input as { list: string[] };
    expect(body.input).toEqual({ ...input, list: [list[0], "", list[2], list[3]] });
    const names = list.map((one) => one && new URL(one).pathname.split("/").at(-1));
    expect(names).toEqual(["data-1.png", "", "data-2.wav", "data-3.png"]);
    expect(await digestOf(await nobody.fetch(String(list[2])))).toBe(await digestOf(sound));
  });

  test("a data URI is validated as it was sent", async () => {
    const length = { type: "string", maxLength: uri.length };
    const own = await newWorld({ input: { properties: { image: length } } });
    const post = (image: string) =>
      own.client.post(
        "/v1/predictions",
        { model: own.model, input: { image } },
        { "validate-input": "true" },
      );
    expect((await post(uri)).status).toBe(202);
    expect((await post(uriOf(bytesOf(LONG + 3)))).status).toBe(422);
    expect(await strays()).toHaveLength(1);
  });
});

describe("creates with a key", () => {
  test("a key with the same data URI is one prediction, with another one a conflict that leaves nothing", async () => {
    const all = await Promise.all([1, 2, 3].map(() => create({ image: uri }, key)));
    const [id = "", ...others] = new Set(all.map(({ id }) => id));
    expect(others).toEqual([]);
    expect(new Set(all.map(urlIn)).size).toBe(1);
    const other = { image: uriOf(bytesOf(LONG, 5)) };
    const refused = await client.refused("/v1/predictions", { model, input: other }, key);
    expect(refused.status).toBe(409);
    expect(await countRows(world.user_id)).toBe(1);
    expect(await strays()).toEqual([`${id}/data-1.png`]);
  });
});

test("a create with a data URI while R2 is down is a 503, and nothing runs", async () => {
  const put = vi.spyOn(env.FILES, "put").mockRejectedValue(new Error("R2 is down"));
  const { status } = await client.refused("/v1/predictions", { model, input: { image: uri } });
  expect(status).toBe(503);
  put.mockRestore();
  expect(await countRows(world.user_id)).toBe(0);
  expect(await strays()).toEqual([]);
});

describe("the address of a data URI's file in the input of another prediction", () => {
  test("the other prediction gets a copy of the file, which stays when the first is removed", async () => {
    const first = await create({ image: uri });
    const again = { image: urlIn(first), list: [urlIn(first)] };
    const second = await create(again);
    const [job] = [await runner.take(), await runner.take()].filter(
      ({ prediction_id }) => prediction_id === second.id,
    );
    const copy = `${second.id}/earlier-1.png`;
    expect(job?.files.map(({ at, stored }) => [at, stored?.key, stored?.data_uri])).toEqual(
      expect.arrayContaining([
        [["image"], copy, true],
        [["list", 0], copy, true],
      ]),
    );
    await client.cancel(first.id);
    await client.ok("DELETE", `/v1/predictions/${first.id}`);
    await vi.waitFor(async () => expect(await keysBelow(first.id)).toEqual([]));
    expect(await digestOf(await nobody.fetch(urlIn(second)))).toBe(await digestOf(picture));
    expect((await client.refused("/v1/predictions", { model, input: again })).status).toBe(422);
  });

  test("a create that names an earlier file can be repeated under its key", async () => {
    const first = await create({ image: uri });
    const input = { image: urlIn(first) };
    const one = await create(input, key);
    expect((await create(input, key)).id).toBe(one.id);
    expect(await strays()).toHaveLength(2);
  });
});

describe("an image of messages", () => {
  const base64 = picture.toBase64();
  const encoded = { type: "base64", media_type: "image/png", data: base64 };
  const messagesOf = (...content: Json[]) => [{ role: "user", content }];

  async function sent(messages: Json) {
    const { client: caller, model: seer, fleet } = await newOpenAi();
    const body = { model: seer, max_tokens: 9, messages };
    const [response, job] = await Promise.all([
      caller.post("/v1/vendorb/messages", body),
      answer(fleet, completion("on")),
    ]);
    expect(response.status).toBe(200);
    return job;
  }

  test("an image becomes a file as a data URI does, also within a tool result", async () => {
    const image = { type: "image", source: encoded };
    const { input, files, prediction_id } = await sent(
      messagesOf(image, { type: "tool_result", tool_use_id: "a", content: [image] }),
    );
    const at = ["messages", 0, "content"];
    const facts = expect.objectContaining({
      key: expect.stringContaining(`${prediction_id}/data-`),
      ...{ mime_type: "image/png", size: LONG, data_uri: true },
    });
    const ours = { at: [...at, 0, "source", "url"], stored: facts };
    const theirs = { at: [...at, 1, "content", 0, "source", "url"], stored: facts };
    expect(files).toHaveLength(2);
    for (const one of [ours, theirs]) expect(files).toContainEqual(one);
    expect(JSON.stringify(input).length).toBeLessThan(2_000);
  });

  const toolUse = { type: "tool_use", id: "a", name: "b", input: { data: base64 } };

  const SOURCES: [string, Json][] = [
    [
      "a document",
      messagesOf({ type: "document", source: { ...encoded, media_type: "application/pdf" } }),
    ],
    [
      "a tool's input",
      [
        { role: "assistant", content: [toolUse] },
        ...messagesOf({ type: "tool_result", tool_use_id: "a", content: "c" }),
      ],
    ],
    [
      "an image without a media type",
      messagesOf({ type: "image", source: { ...encoded, media_type: "?" } }),
    ],
  ];
  test.each(SOURCES.slice(0, sized(1, SOURCES.length)))(
    "the source of %s stays as it is",
    async (_, messages) => {
      const { input, files } = await sent(messages);
      expect(input?.messages).toEqual(messages);
      expect(files).toEqual([]);
      expect(await strays()).toEqual([]);
    },
  );
});

describe("base64 in a body", () => {
  const bytes = bytesOf(300);
  const base64 = bytes.toBase64();
  const found = (json: string, least = 100) => {
    const encoded = new TextEncoder().encode(json);
    return findBase64Data(encoded, least).map(({ from, to, content }) => {
      expect(content).toEqual(bytes);
      return new TextDecoder().decode(encoded.subarray(from, to));
    });
  };

  test.each([
    JSON.stringify({ data: base64 }),
    `{"data" :\n "${base64}"}`,
    `{"a": "é", "data":"${base64.replaceAll("/", "\\/")}", "b": [{}]}`,
    JSON.stringify([{ text: '"data":"', data: base64 }]),
  ])("base64 is found as the value of `data`", (json) => {
    expect(found(json).map((one) => JSON.parse(one))).toEqual([base64]);
  });

  test.each([
    JSON.stringify({ text: base64 }),
    JSON.stringify({ data: `${base64} ` }),
    JSON.stringify({ data: base64.slice(1) }),
    JSON.stringify({ data: { data: 5 } }),
    JSON.stringify({ text: `{"data":"${base64}"}` }),
    JSON.stringify([`data`, base64]),
    `{"data":"${base64}`,
  ])("base64 is not found when it is short, elsewhere or malformed", (json) => {
    expect(found(json)).toEqual([]);
    expect(found(JSON.stringify({ data: base64 }), 401)).toEqual([]);
  });
});
