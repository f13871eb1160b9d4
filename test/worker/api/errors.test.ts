/** Errors: unknown addresses and methods, failures of the service, and headers of every answer. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { MESSAGES } from "../../../src/lib/transient-error.ts";
import type { Refusal } from "../support/client.ts";
import { expectRawProblem, rawRequests } from "../support/raw-requests.ts";
import { newWorld, operator } from "../support/world.ts";

const { client, model } = await newWorld();
const send = rawRequests(client);

describe("methods that an address does not have", () => {
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
    expectRawProblem(answer, 405, "method_not_allowed");
    expect(answer.body.detail).toContain(method);
  });

  test("a body of an unknown type is a 405, too", async () => {
    const answer = await send("PUT", "/v1/predictions", {
      body: "x",
      headers: { "content-type": "text/plain" },
    });
    expectRawProblem(answer, 405, "method_not_allowed");
  });

  test("a method that a route does not have is a 405, on every route", async () => {
    const methodsOf = Map.groupBy(
      app.routes.filter(({ method, path }) => method !== "ALL" && !path.startsWith("/v1/runner/")),
      ({ path }) => path,
    );
    for (const [path, routes] of methodsOf) {
      const own = routes.map(({ method }) => method);
      const other =
        ["PATCH", "PUT", "DELETE", "GET", "POST"].find((method) => !own.includes(method)) ?? "";
      const { status, response } = await send(other, path.replaceAll(/:\w+/g, "x"));
      expect([path, status]).toEqual([path, 405]);
      expect(response.headers.get("allow")?.split(", ")).toEqual(expect.arrayContaining(own));
    }
  });

  test("an OPTIONS request is a preflight on every address", async () => {
    for (const path of ["/v1/predictions", "/v1/unknown"])
      expect((await send("OPTIONS", path)).status).toBe(204);
  });
});

describe("an unknown address", () => {
  test.each([
    "/v1",
    "/v1/",
    "/v1/unknown",
    "/v3/predictions",
    "/v2x/",
    "/v1/predictions/",
    "//v1/predictions",
    "/v1//predictions",
    "/v1/predictions/x/y",
    "/v1/%",
    "/v1/%E0%A4%A",
    "/v1/%00",
    `/v1/${"x/".repeat(4_000)}`,
    `/${"ä".repeat(4_000)}`,
  ])("a request of %s is a 404", async (path) => {
    for (const method of ["GET", "POST"]) {
      const answer = await send(method, path);
      expectRawProblem(answer, 404, "not_found");
      expect(answer.body.detail).toContain("/docs");
      expect(answer.body.detail.length).toBeLessThan(400);
    }
  });
});

test.each(["/v1/embeddings-2", "/v1/vendors", "/v3/responses"])("%s is a 404", async (path) => {
  expectRawProblem(await send("POST", path), 404, "not_found");
});

test("an answer has X-Content-Type-Options: it shares its origin with pages", async () => {
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
    "an x-request-id is on the answer of %s, and is the client's own if that is well-formed",
    async (path) => {
      expect(await id(path)).toMatch(/^[0-9a-f-]{36}$/);
      expect(await id(path, "my-own_id=7")).toBe("my-own_id=7");
      for (const odd of ["", "a b", "x".repeat(129), "<script>"])
        expect(await id(path, odd)).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test("an x-request-id is on answers without a body, and on streams", async () => {
    const preflight = await client.fetch("/v1/predictions", { method: "OPTIONS" });
    expect(preflight.headers.get("x-request-id")).toMatch(/./);
    const created = await client.post("/v1/predictions", { model, input: {}, stream: true });
    expect(created.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
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

describe("an error of the service", () => {
  /** Bindings whose database fails to read with this message. */
  const failing = (message: string) => ({
    ...env,
    DB: {
      prepare: () => ({
        bind: () => ({
          run: () => Promise.resolve({}),
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

  test("a database that is busy is a 503 with Retry-After", async () => {
    const response = await read(
      failing("D1_ERROR: D1 DB is overloaded. Requests queued for too long."),
    );
    const body: Refusal = await response.json();
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("30");
    expect(body).toMatchObject({ type: "urn:auspex:unavailable" });
  });

  const messages = Object.entries(MESSAGES).flatMap(([kind, texts]) =>
    texts.map((text) => ({ kind, text })),
  );

  test.each(messages)("an error of $text is a 503 with Retry-After", async ({ text }) => {
    const response = await read(failing(`D1_ERROR: ${text}`));
    const body: Refusal = await response.json();
    expect(response.status).toBe(503);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(JSON.stringify(body)).not.toContain(text);
  });

  test("a row that was deleted between two statements is a 409", async () => {
    const response = await read(
      failing("D1_ERROR: FOREIGN KEY constraint failed: SQLITE_CONSTRAINT"),
    );
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ type: "urn:auspex:conflict" });
  });

  test("any other error is a 500 that says nothing of the cause", async () => {
    const response = await read(failing("D1_ERROR: no such table: secrets"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secrets");
  });
});
