/** Odd requests: wrong parameters, headers and bodies get a 422 that names the error; others do no harm. */
import { describe, expect, test } from "vitest";
import type { ValidationIssue } from "../../../src/protocol/common.ts";
import { expectRawProblem, JSON_TYPE, rawRequests } from "../support/raw-requests.ts";
import { newWorld } from "../support/world.ts";

const { client, model } = await newWorld();
const send = rawRequests(client);

describe("odd parameters", () => {
  test.each([
    "/v1/predictions/%00",
    "/v1/predictions/%E0%A4%A",
    "/v1/predictions/%2e%2e%2f",
    "/v1/models/a%00b/c",
    "/v1/models/%F0%9F%90%99/story",
    `/v1/models/${"a".repeat(8_000)}/story`,
    "/v1/predictions?cursor=%",
    "/v1/predictions?cursor=%00",
    "/v1/predictions?page_size=%F0%9F%90%99",
    "/v1/predictions?page_size=5&page_size=6",
    `/v1/predictions?cursor=${"x".repeat(15_000)}`,
    "/v1/predictions?statuses[]=pending&statuses=%",
  ])("a request of %s is a 422", async (path) => {
    const { status, body } = await send("GET", path);
    expect(status).toBe(422);
    expect(body.detail.length).toBeGreaterThan(0);
  });

  test("an unknown parameter does no harm where no query is declared", async () => {
    const { status } = await send("GET", "/v1/user?__proto__=x&constructor=y&%=z");
    expect(status).toBe(200);
  });

  test("a list names the parameters that it does not know, whatever they are called", async () => {
    const { status, body } = await send("GET", "/v1/predictions?constructor=y&%=z&__proto__=x");
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { type: "extra_forbidden", loc: ["query", "constructor"], input: "y" },
      { type: "extra_forbidden", loc: ["query", "%"], input: "z" },
      { type: "extra_forbidden", loc: ["query", "__proto__"], input: "x" },
    ]);
  });
});

describe("errors of a request", () => {
  async function issuesOf(method: string, path: string, init: RequestInit = {}) {
    const { status, body } = await send(method, path, init);
    expect(status).toBe(422);
    return (body.detail as ValidationIssue[]).map(({ loc, type }) => `${loc.join(".")} ${type}`);
  }

  test("errors in the path are named", async () => {
    expect(await issuesOf("GET", "/v1/predictions/x")).toEqual(["path.prediction_id uuid_parsing"]);
    const path = `/v1/models/${model}/versions/x/predictions`;
    expect(await issuesOf("POST", path, { body: '{"input": {}}', headers: JSON_TYPE })).toEqual([
      "path.version_number int_parsing",
    ]);
  });

  test("errors in the query are named, several at once", async () => {
    expect(
      await issuesOf("GET", "/v1/predictions?page_size=x&statuses=y&statuses=pending"),
    ).toEqual(["query.page_size int_parsing", "query.statuses.0 enum"]);
  });

  test("errors in the headers are named", async () => {
    const headers = { ...JSON_TYPE, "validate-input": "maybe" };
    const body = JSON.stringify({ model, input: {} });
    expect(await issuesOf("POST", "/v1/predictions", { body, headers })).toEqual([
      "header.validate-input enum",
    ]);
  });

  test.each(["wait=soon", "wait=-1", `x=${"y".repeat(2_000)}`])(
    "a Prefer of %s is ignored, and Preference-Applied names nothing",
    async (prefer) => {
      const headers = { ...JSON_TYPE, prefer };
      const body = JSON.stringify({ model, input: {} });
      const { status, response } = await send("POST", "/v1/predictions", {
        body,
        headers,
      });
      expect([status, response.headers.get("preference-applied")]).toEqual([202, null]);
    },
  );

  test.each([
    ["GET", "/v1/models/Demo/Story"],
    ["GET", "/v1/models/Demo"],
    ["GET", "/v1/models/Demo/Story/versions/1"],
    ["GET", "/v1/users/Demo"],
  ])("%s %s, whose names are in upper case, is a 404", async (method, path) => {
    expect((await send(method, path)).status).toBe(404);
  });

  test("errors in the body are named, several at once, with the expected values", async () => {
    const { body } = await send("POST", "/v1/models", {
      headers: JSON_TYPE,
      body: JSON.stringify({ name: "A B", visibility: "secret", description: "x".repeat(1_001) }),
    });
    expect(body.detail).toMatchObject([
      { loc: ["body", "name"], type: "string_pattern_mismatch", input: "A B" },
      {
        loc: ["body", "visibility"],
        type: "enum",
        ctx: { expected: "'private', 'public' or 'restricted'" },
      },
      { loc: ["body", "description"], type: "string_too_long", ctx: { max_length: 1_000 } },
    ]);
    expect(body.detail[2]).not.toHaveProperty("input");
  });

  test("errors do not repeat a secret", async () => {
    const { status, text } = await send("POST", "/v1/predictions", {
      headers: JSON_TYPE,
      body: JSON.stringify({ model, input: {}, webhook: { url: "x", secret: "hunter2" } }),
    });
    expect(status).toBe(422);
    expect(text).not.toContain("hunter2");
  });
});

describe("a body", () => {
  const create = (body: BodyInit, headers: Record<string, string> = JSON_TYPE) =>
    send("POST", "/v1/predictions", { body, headers });

  test.each([
    ["is empty", ""],
    ["is cut off", '{"model": '],
    ["has a hundred open brackets", "[".repeat(100)],
    ["is not text", new Uint8Array([0xff, 0xfe, 0x80])],
    ["is a NUL", "\0"],
  ])("a body that %s is not JSON, and ctx has the parser's message", async (_, body) => {
    const answer = await create(body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      {
        type: "json_invalid",
        loc: ["body"],
        msg: expect.stringContaining("JSON"),
        ctx: { error: expect.stringMatching(/JSON/) },
      },
    ]);
  });

  describe.each([
    ["[", "]"],
    ['{"a":', "}"],
  ])("nested many times: %s", (open, close) => {
    const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`;
    const post = (path: string, body: string) => send("POST", path, { headers: JSON_TYPE, body });

    test("a nested input is accepted up to 128 levels in all", async () => {
      const deep = nested(126);
      const { status, response } = await post(
        "/v1/predictions",
        `{"model": "${model}", "input": {"a": ${deep}}}`,
      );
      expect(status).toBe(202);
      const location = response.headers.get("location") ?? "";
      expect((await send("GET", location)).text).toContain(deep);
      expect((await post(`${location}/cancel`, "")).status).toBe(202);
    });
  });

  test("a body with NUL and lone surrogates is only text", async () => {
    const name = `nul-${crypto.randomUUID().slice(0, 8)}`;
    const body = `{"name": "${name}", "description": "a\\u0000b\\ud800c", "overview": "\\u0000"}`;
    const { status } = await send("POST", "/v1/models", { headers: JSON_TYPE, body });
    expect(status).toBe(200);
    expect((await send("GET", `/v1/models/${model.split("/")[0]}/${name}`)).status).toBe(200);
  });

  test("a body of a request that takes none does no harm", async () => {
    const answer = await send("DELETE", "/v1/predictions", {
      body: "x".repeat(100),
      headers: { "content-type": "text/plain" },
    });
    expectRawProblem(answer, 405, "method_not_allowed");
  });
});
