/** Invalid bodies: not JSON, too large, nested too deep, with fields of wrong types or names. */
import { afterEach, describe, expect, test } from "vitest";
import type { Refusal } from "../support/client.ts";
import { ALL } from "../support/openai.ts";
import { expectInvalid, expectProblem, expectUntouched } from "../support/refusals.ts";
import { DIGEST, newWorld } from "../support/world.ts";

const world = await newWorld({ compatibilities: ALL });
const { client, model } = world;

afterEach(() => expectUntouched(world));

const create = (body: unknown) => client.refused("/v1/predictions", body);

describe("a refused body", () => {
  test.each(["null", "[]", "5", '"text"', "true"])("a body is not an object: %s", async (body) => {
    const answer = await create(body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ["body"] }]);
  });

  test.each([undefined, null, "text", 5, [], true])(
    "an input is not an object: %j",
    async (input) => {
      expectInvalid(await create({ model, input }), "body", "input");
    },
  );

  test("fields of wrong types are each named", async () => {
    const answer = await create({ model, input: {}, stream: "yes", webhook: { url: 5 } });
    expectInvalid(answer, "body", "stream");
    expectInvalid(answer, "body", "webhook", "url");
  });

  test.each([
    [{ url: "ftp://example.com" }, "url"],
    [{ url: "https://example.com", event: ["completed"] }, "event"],
    [{ url: "https://example.com", secret: "whsec_no base64 at all" }, "secret"],
    [{ url: "https://[::ffff:10.0.0.1]/hook" }, "url"],
    [{ url: "https://me:secret@example.com/hook" }, "url"],
  ])("a webhook is invalid: %j", async (webhook, where) => {
    const answer = await create({ model, input: {}, webhook });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([
      { loc: expect.arrayContaining(["body", "webhook", where]) },
    ]);
  });

  test("a body over 10 MiB is a 413, with and without a length", async () => {
    const body = JSON.stringify({ model, input: { text: "x".repeat(10 * 1024 * 1024) } });
    expectProblem(await create(body), 413, "too_large");
    const bytes = new TextEncoder().encode(body);
    const streamed = await client.fetch("/v1/predictions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new Blob([bytes]).stream(),
    });
    expect(streamed.status).toBe(413);
  });

  describe.each([129, 20_000])("nested %i levels deep", (levels) => {
    const nested = `{"a":${"[".repeat(levels - 2) + "]".repeat(levels - 2)}}`;
    const schemas = `{"prediction":{"input":${nested},"output":{}}}`;
    test.each([
      ["an input of a prediction", "/predictions", `"model":"${model}","input":${nested}`],
      ["an input of a response", "/vendora/responses", `"model":"${model}","input":[${nested}]`],
      [
        "a schema",
        `/models/${model}/versions`,
        `"release_notes":"","container_image_digest":"${DIGEST}","schemas":${schemas}`,
      ],
    ])("%s is refused as nested too deep", async (_, path, fields) => {
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", body: `{${fields}}`, headers };
      const response = await client.fetch(`/v1${path}`, init);
      expect(response.status).toBe(422);
      expect((await response.json<Refusal>()).detail).toEqual([
        {
          type: "recursion_loop",
          loc: ["body"],
          msg: "Input is nested too deep: 128 levels at most",
          ctx: { max_depth: 128 },
        },
      ]);
    });
  });

  test.each([
    ["one piece", 0],
    ["many pieces", 100_000],
  ])("a body that is not UTF-8 is refused: %s", async (_, padding) => {
    const text = JSON.stringify({ model, input: { text: "é".padEnd(padding, " ") } });
    const body = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const headers = { "content-type": "application/json" };
    const response = await client.fetch("/v1/predictions", { method: "POST", headers, body });
    expect(response.status).toBe(422);
    expect((await response.json<Refusal>()).detail).toEqual([
      {
        type: "json_invalid",
        loc: ["body"],
        msg: "The body is not valid JSON: JSON must be UTF-8",
        ctx: { error: "JSON must be UTF-8" },
      },
    ]);
  });

  test("a body that ends within a character is not UTF-8", async () => {
    const response = await client.fetch("/v1/predictions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new Uint8Array([0x22, 0xc3]),
    });
    expect(response.status).toBe(422);
    expect(JSON.stringify(await response.json())).toContain("JSON must be UTF-8");
  });

  test("a compressed body is a 415 that asks for an uncompressed one", async () => {
    const body = new Blob([JSON.stringify({ model, input: {} })]).stream();
    const answer = await client.fetch("/v1/predictions", {
      method: "POST",
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
      body: body.pipeThrough(new CompressionStream("gzip")),
    });
    expect(answer.status).toBe(415);
    expect((await answer.json<Refusal>()).detail).toMatch(/uncompressed.*not 'gzip'/);
  });

  test("a body of another content type is a 415", async () => {
    const response = await client.fetch("/v1/predictions", {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: JSON.stringify({ model, input: {} }),
    });
    expect(response.status).toBe(415);
  });
});

describe("a field that is misspelt", () => {
  const schemas = { prediction: { input: {}, output: {} } };
  const version = { release_notes: "", container_image_digest: DIGEST, schemas };
  test.each<[what: string, path: string, body: object, at: string[]]>([
    ["a prediction", "/predictions", { model, input: {}, webhok: {} }, ["webhok"]],
    [
      "a prediction of one model",
      `/models/${model}/predictions`,
      { input: {}, retention_second: 60 },
      ["retention_second"],
    ],
    ["a version", `/models/${model}/versions`, { ...version, config: {} }, ["config"]],
    [
      "the compatibilities of a version",
      `/models/${model}/versions`,
      { ...version, compatibilities: { vendora_chat: true } },
      ["compatibilities", "vendora_chat"],
    ],
    ["an upload", "/uploads", { size: 1, mime_type: "text/plain", filename: "a" }, ["filename"]],
  ])("a misspelt field of %s is named, and nothing is created", async (_, path, body, at) => {
    expectInvalid(await client.refused(`/v1${path}`, body), "body", ...at);
  });
});
