/** Whatever is sent, what comes back is an answer of this API: a problem or a 422, and never a 5xx. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import type { ValidationIssue } from "../../../src/protocol/common.ts";
import { expectErrorBody } from "../../published/validate.ts";
import { ORIGIN, type Refusal } from "../support/client.ts";
import { DIGEST, newWorld, operator } from "../support/world.ts";

const { client, model } = await newWorld();

const json = { "content-type": "application/json" };

async function send(method: string, path: string, init: RequestInit = {}) {
  const headers = { authorization: `Bearer ${client.token}`, ...init.headers };
  const request = new Request(`${ORIGIN}${path}`, { ...init, method, headers });
  const response = await app.fetch(request, env, createExecutionContext());
  const text = await response.text();
  return { response, status: response.status, text, body: text ? JSON.parse(text) : undefined };
}

function expectProblem(
  { response, body }: Awaited<ReturnType<typeof send>>,
  status: number,
  type: string,
) {
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(body).toEqual({
    type: `urn:auspex:${type}`,
    title: expect.stringMatching(/./),
    status,
    detail: expect.stringMatching(/./),
    request_id: response.headers.get("x-request-id"),
  });
}

describe("another method than an address takes", () => {
  test.each([
    ["PUT", "/v1/predictions", "POST, GET, HEAD"],
    ["DELETE", "/v1/predictions", "POST, GET, HEAD"],
    ["POST", "/v1/predictions/x", "GET, HEAD, DELETE"],
    ["GET", "/v1/predictions/x/cancel", "POST"],
    ["HEAD", "/v1/predictions/x/cancel", "POST"],
    ["PATCH", "/v1/predictions/x/stream", "GET, HEAD"],
  ])("%s %s is a 405 that names %s", async (method, path, allow) => {
    const answer = await send(method, path);
    expect(answer.status).toBe(405);
    expect(new Set(answer.response.headers.get("allow")?.split(", "))).toEqual(
      new Set(allow.split(", ")),
    );
    expect(answer.response.headers.get("access-control-allow-origin")).toBe("*");
    if (method === "HEAD") return;
    expectProblem(answer, 405, "method_not_allowed");
    expect(answer.body.detail).toContain(method);
  });

  test("also where its body is of no known type", async () => {
    const answer = await send("PUT", "/v1/predictions", {
      body: "x",
      headers: { "content-type": "text/plain" },
    });
    expectProblem(answer, 405, "method_not_allowed");
  });

  test("of every route", async () => {
    const methodsOf = Map.groupBy(
      app.routes.filter(({ method, path }) => method !== "ALL" && !path.startsWith("/v1/runner/")),
      ({ path }) => path,
    );
    for (const [path, routes] of methodsOf) {
      const own = routes.map(({ method }) => method);
      const other = ["GET", "PUT", "PATCH", "DELETE"].find((method) => !own.includes(method)) ?? "";
      const { status, response } = await send(other, path.replaceAll(/:\w+/g, "x"));
      expect([path, status]).toEqual([path, 405]);
      expect(response.headers.get("allow")?.split(", ")).toEqual(expect.arrayContaining(own));
    }
  });

  test("OPTIONS is a preflight, wherever", async () => {
    for (const path of ["/v1/predictions", "/v1/unknown"])
      expect((await send("OPTIONS", path)).status).toBe(204);
  });
});

describe("an address that is none", () => {
  test.each([
    "/v1",
    "/v1/",
    "/v1/unknown",
    "/v2/predictions",
    "/v1/predictions/",
    "//v1/predictions",
    "/v1//predictions",
    "/v1/predictions/x/y",
    "/v1/%",
    "/v1/%E0%A4%A",
    "/v1/%00",
    `/v1/${"x/".repeat(4_000)}`,
    `/${"ä".repeat(4_000)}`,
  ])("%s", async (path) => {
    for (const method of ["GET", "POST"]) {
      const answer = await send(method, path);
      expectProblem(answer, 404, "not_found");
      expect(answer.body.detail).toContain("/docs");
      expect(answer.body.detail.length).toBeLessThan(400);
    }
  });
});

describe("an address that a client of OpenAI has with the wrong base", () => {
  test.each([
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/chat/completions",
    "/responses",
    "/responses/resp_0/cancel",
    "/embeddings",
    "/vendora/chat/completions",
    "/vendora/models",
  ])("%s says which is right", async (path) => {
    const { response, status, body } = await send("POST", path, { body: "{}", headers: json });
    expect(status).toBe(404);
    expect(response.headers.get("x-request-id")).toMatch(/./);
    expect(body).toEqual({ error: expect.any(Object) });
    expectErrorBody(body);
    expect(body.error).toMatchObject({ code: "not_found", type: "invalid_request_error" });
    expect(body.error.message).toContain(path);
    expect(body.error.message).toContain(`The base URL for this client is ${ORIGIN}/v1/vendora.`);
  });

  test.each(["/v1/embeddings-2", "/v1/vendors", "/v2/responses"])("%s is not one", async (path) => {
    expectProblem(await send("POST", path), 404, "not_found");
  });
});

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
  ])("%s", async (path) => {
    const { status, body } = await send("GET", path);
    expect(status).toBe(422);
    expect(body.detail.length).toBeGreaterThan(0);
  });

  test("a parameter that nobody asked for does no harm", async () => {
    const { status } = await send("GET", "/v1/user?__proto__=x&constructor=y&%=z");
    expect(status).toBe(200);
  });

  test("a list says which ones it does not know, whatever they are called", async () => {
    const { status, body } = await send("GET", "/v1/predictions?constructor=y&%=z&__proto__=x");
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { type: "extra_forbidden", loc: ["query", "constructor"], input: "y" },
      { type: "extra_forbidden", loc: ["query", "%"], input: "z" },
      { type: "extra_forbidden", loc: ["query", "__proto__"], input: "x" },
    ]);
  });
});

describe("what is wrong with a request", () => {
  async function issuesOf(method: string, path: string, init: RequestInit = {}) {
    const { status, body } = await send(method, path, init);
    expect(status).toBe(422);
    return (body.detail as ValidationIssue[]).map(({ loc, type }) => `${loc.join(".")} ${type}`);
  }

  test("in its path", async () => {
    expect(await issuesOf("GET", "/v1/predictions/x")).toEqual(["path.prediction_id uuid_parsing"]);
    const path = `/v1/models/${model}/versions/x/predictions`;
    expect(await issuesOf("POST", path, { body: '{"input": {}}', headers: json })).toEqual([
      "path.version_number int_parsing",
    ]);
  });

  test("in its query, several at once", async () => {
    expect(
      await issuesOf("GET", "/v1/predictions?page_size=x&statuses=y&statuses=pending"),
    ).toEqual(["query.page_size int_parsing", "query.statuses.0 enum"]);
  });

  test("in its headers", async () => {
    const headers = { ...json, prefer: "wait=soon" };
    const body = JSON.stringify({ model, input: {} });
    expect(await issuesOf("POST", "/v1/predictions", { body, headers })).toEqual([
      "header.prefer int_parsing",
    ]);
  });

  test("in its body, several at once, with what helps", async () => {
    const { body } = await send("POST", "/v1/models", {
      headers: json,
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

  test("a secret is not repeated", async () => {
    const { status, text } = await send("POST", "/v1/predictions", {
      headers: json,
      body: JSON.stringify({ model, input: {}, webhook: { url: "x", secret: "hunter2" } }),
    });
    expect(status).toBe(422);
    expect(text).not.toContain("hunter2");
  });
});

describe("a body", () => {
  const create = (body: BodyInit, headers: Record<string, string> = json) =>
    send("POST", "/v1/predictions", { body, headers });

  test.each([
    ["empty", ""],
    ["cut off", '{"model": '],
    ["open a hundred times", "[".repeat(100)],
    ["bytes of no text", new Uint8Array([0xff, 0xfe, 0x80])],
    ["NUL", "\0"],
  ])("that is %s is no JSON: what the parser says is in ctx", async (_, body) => {
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
    const post = (path: string, body: string) => send("POST", path, { headers: json, body });

    test("is an object too many, or the wrong thing", async () => {
      for (const levels of [100, 100_000])
        expect((await post("/v1/predictions", nested(levels))).status).toBe(422);
    });

    test("as an input is like any other, up to 128 levels in all", async () => {
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

    test("as a schema is refused", async () => {
      const deep = nested(129);
      const input = `{"properties": {"a": ${deep}}}`;
      const body = `{"release_notes": "", "container_image_digest": "${DIGEST}", "schemas": {"prediction": {"input": ${input}, "output": {}}}}`;
      expect((await post(`/v1/models/${model}/versions`, body)).status).toBe(422);
    });
  });

  test("with NUL and lone surrogates in it is only text", async () => {
    const name = `nul-${crypto.randomUUID().slice(0, 8)}`;
    const body = `{"name": "${name}", "description": "a\\u0000b\\ud800c", "overview": "\\u0000"}`;
    const { status } = await send("POST", "/v1/models", { headers: json, body });
    expect(status).toBe(200);
    expect((await send("GET", `/v1/models/${model.split("/")[0]}/${name}`)).status).toBe(200);
  });

  test("where none belongs does no harm", async () => {
    const answer = await send("DELETE", "/v1/predictions", {
      body: "x".repeat(100),
      headers: { "content-type": "text/plain" },
    });
    expectProblem(answer, 405, "method_not_allowed");
  });
});

test("no answer is anything else than it says: it shares its origin with pages", async () => {
  const created = await client.post("/v1/predictions", { model, input: {} });
  const location = created.headers.get("location") ?? "";
  const paths = ["/v1/models", location, "/v1/unknown", "/v1/predictions/x", "/v1/openapi.json"];
  for (const path of paths) {
    const { response } = await send("GET", path);
    expect([path, response.headers.get("x-content-type-options")]).toEqual([path, "nosniff"]);
  }
});

describe("x-request-id", () => {
  const id = (path: string, given?: string) =>
    client
      .fetch(path, given === undefined ? {} : { headers: { "x-request-id": given } })
      .then(async (response) => {
        await response.body?.cancel();
        return response.headers.get("x-request-id");
      });

  test.each(["/v1/predictions", "/v1/unknown", "/v1/predictions/x", "/v1/predictions?page_size=x"])(
    "is on the answer of %s, and the client's own when it is sane",
    async (path) => {
      expect(await id(path)).toMatch(/^[0-9a-f-]{36}$/);
      expect(await id(path, "my-own_id=7")).toBe("my-own_id=7");
      for (const odd of ["", "a b", "x".repeat(129), "<script>"])
        expect(await id(path, odd)).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test("is on what has no body, and on streams", async () => {
    const preflight = await client.fetch("/v1/predictions", { method: "OPTIONS" });
    expect(preflight.headers.get("x-request-id")).toMatch(/./);
    const created = await client.post("/v1/predictions", { model, input: {}, stream: true });
    expect(created.headers.get("content-type")).toBe("text/event-stream");
    expect(created.headers.get("x-request-id")).toMatch(/./);
    await created.body?.cancel();
    const location = created.headers.get("location") ?? "";
    expect(await client.cancel(location.split("/").at(-1) ?? "")).toBe(202);
    const stream = await client.fetch(`${location}/stream`);
    expect(stream.headers.get("x-request-id")).toMatch(/./);
    const last = [...(await stream.text()).matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
    const ended = await client.fetch(`${location}/stream?after_id=${last}`);
    expect(ended.status).toBe(204);
    expect(ended.headers.get("x-request-id")).toMatch(/./);
  });
});

describe("what is not the caller's fault", () => {
  /** The database, as it fails. */
  const failing = (message: string) => ({
    ...env,
    DB: {
      prepare: () => ({
        bind: () => ({
          raw: () => Promise.reject(new Error(message)),
          all: () => Promise.reject(new Error(message)),
        }),
      }),
    },
  });

  const read = (bindings: object) =>
    app.request(
      "/v1/operator/runners",
      { headers: { authorization: `Bearer ${operator.token}` } },
      bindings,
    );

  test("a database that is busy is a 503, to be tried again", async () => {
    const response = await read(
      failing("D1_ERROR: D1 DB is overloaded. Requests queued for too long."),
    );
    const body: Refusal = await response.json();
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("5");
    expect(body).toMatchObject({ type: "urn:auspex:unavailable" });
  });

  test("what was deleted between two statements is a 409", async () => {
    const response = await read(
      failing("D1_ERROR: FOREIGN KEY constraint failed: SQLITE_CONSTRAINT"),
    );
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ type: "urn:auspex:conflict" });
  });

  test("anything else is a 500 that tells nothing", async () => {
    const response = await read(failing("D1_ERROR: no such table: secrets"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secrets");
  });
});
