/** Conditional reads and Cache-Control: which answers clients may keep, and which are not sent twice. */
import { Hono } from "hono";
import { beforeEach, describe, expect, test } from "vitest";
import {
  conditionalGet,
  markPublic,
  noStoreByDefault,
} from "../../../src/middleware/conditional.ts";
import { Client } from "../support/client.ts";
import { newUser } from "../support/world.ts";

let value = 1;
beforeEach(() => {
  value = 1;
});

const app = new Hono()
  .use(noStoreByDefault)
  .use(async (c, next) => {
    c.header("x-request-id", "7");
    c.res.headers.set("access-control-allow-origin", "*");
    await next();
  })
  .use(conditionalGet)
  .get("/private", (c) => c.json({ value }))
  .get("/public", (c) => {
    markPublic(c);
    return c.json({ value });
  })
  .get("/raw", (c) => {
    markPublic(c);
    return new Response(`{"value":${value}}`, { headers: { "content-type": "application/json" } });
  })
  .get("/refused", (c) => {
    markPublic(c);
    return c.json({ value }, 404);
  })
  .get("/thrown", (c) => {
    markPublic(c);
    throw new Error("after it was said to be public");
  })
  .post("/private", (c) => c.json({ value }))
  .get("/stream", () => {
    const { readable, writable } = new TransformStream();
    writable.getWriter().write(new TextEncoder().encode("data: 1\n\n"));
    return new Response(readable, { headers: { "content-type": "text/event-stream" } });
  })
  .onError((_, c) => c.json({ value }, 500));

const ask = (path: string, tag?: string | null, method = "GET") =>
  app.request(path, { method, ...(tag && { headers: { "if-none-match": tag } }) });

const tagOf = async (path: string, method = "GET") =>
  (await ask(path, null, method)).headers.get("etag") ?? "";

describe("a conditional read", () => {
  test.each(["/private", "/public", "/raw"])("%s is a 304 until it changes", async (path) => {
    const tag = await tagOf(path);
    expect(tag).toMatch(/^W\/"[0-9a-f]{40}"$/);
    const again = await ask(path, tag);
    expect(again.status).toBe(304);
    expect(await again.text()).toBe("");
    expect(again.headers.get("etag")).toBe(tag);
    expect(again.headers.get("content-type")).toBeNull();
    value = 2;
    const changed = await ask(path, tag);
    expect(changed.status).toBe(200);
    expect(await changed.json()).toEqual({ value: 2 });
    expect(changed.headers.get("etag")).not.toBe(tag);
  });

  test("a 304 has the headers of every answer", async () => {
    for (const path of ["/private", "/public"]) {
      const { headers } = await ask(path, await tagOf(path));
      expect(headers.get("x-request-id")).toBe("7");
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.get("cache-control")).toBe((await ask(path)).headers.get("cache-control"));
    }
  });

  test("a cacheable answer varies by token", async () => {
    expect((await ask("/public")).headers.get("vary")).toBe("authorization, x-api-key");
    expect((await ask("/public", await tagOf("/public"))).headers.get("vary")).toBe(
      "authorization, x-api-key",
    );
  });

  test("a read takes a list of tags, strong ones and a star", async () => {
    const tag = await tagOf("/private");
    for (const sent of [`"x", ${tag}`, tag.slice(2), "*"])
      expect((await ask("/private", sent)).status).toBe(304);
    for (const sent of ['"x"', "garbage"]) expect((await ask("/private", sent)).status).toBe(200);
  });

  test("a HEAD has the tag of GET", async () => {
    const tag = await tagOf("/private");
    expect(await tagOf("/private", "HEAD")).toBe(tag);
    expect((await ask("/private", tag, "HEAD")).status).toBe(304);
  });

  test("a change or a failure has no tag", async () => {
    expect(await tagOf("/private", "POST")).toBe("");
    expect((await ask("/private", "*", "POST")).status).toBe(200);
    expect(await tagOf("/refused")).toBe("");
    expect((await ask("/refused", "*")).status).toBe(404);
  });

  test("a stream is not buffered for a tag", async () => {
    const response = await ask("/stream", "*");
    expect(response.status).toBe(200);
    expect(response.headers.get("etag")).toBeNull();
    expect(response.headers.get("cache-control")).toBe("no-store");
    const { value: first } = (await response.body?.getReader().read()) ?? {};
    expect(new TextDecoder().decode(first)).toBe("data: 1\n\n");
  });
});

describe("Cache-Control", () => {
  test.each([
    ["/private", "no-store"],
    ["/public", "public, max-age=10"],
    ["/raw", "public, max-age=10"],
    ["/refused", "no-store"],
    ["/thrown", "no-store"],
    ["/unknown", "no-store"],
  ])("an answer of %s has %s", async (path, expected) => {
    expect((await ask(path)).headers.get("cache-control")).toBe(expected);
  });

  test("an answer to a token, or an error, has no-store", async () => {
    const { client } = await newUser();
    for (const [path, status] of [
      ["/v1/predictions", 200],
      ["/v1/predictions/x", 422],
      ["/v1/models/nobody/nothing", 404],
      ["/v1/unknown", 404],
    ] as const) {
      const response = await client.fetch(path);
      expect(response.status).toBe(status);
      expect(response.headers.get("cache-control")).toBe("no-store");
    }
    const refused = await new Client("bad").fetch("/v1/predictions");
    expect(refused.headers.get("cache-control")).toBe("no-store");
  });
});
