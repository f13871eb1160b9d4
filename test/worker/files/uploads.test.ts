/** Uploads: parts in any order and repeated, and refusals. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ValidationIssue } from "../../../src/protocol/common.ts";
import type { Upload } from "../../../src/protocol/upload.ts";
import type { Refusal } from "../support/client.ts";
import {
  beginUpload,
  bytesOf,
  digestOf,
  fileUrl,
  MIB,
  nobody,
  PART,
  putPart,
  sendPart,
  sendParts,
} from "../support/files.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const { client } = await newUser();

async function refusal(response: Response): Promise<{ status: number; detail: unknown }> {
  const { detail } = await response.json<Refusal>();
  return { status: response.status, detail };
}

/** Puts a part. Returns the refusal. */
const refusedPart = async (...put: Parameters<typeof putPart>) => refusal(await putPart(...put));

describe("a new upload", () => {
  test("a new upload has its part size and a URL for each part", async () => {
    const begun = await beginUpload(client, 2 * PART + 5, { name: "a b.png" });
    expect(begun).toMatchObject({
      status: "pending",
      size: 2 * PART + 5,
      mime_type: "text/plain",
      name: "a b.png",
      part_size: PART,
      parts: [],
      file_url: null,
    });
    expect(begun.urls).toHaveLength(3);
    expect(Date.parse(begun.expires_at) - Date.parse(begun.created_at)).toBe(86_400_000);
    expect(await client.ok("GET", `/v1/uploads/${begun.id}`)).toEqual(begun);
  });

  test("a new upload has larger parts if it would need more than 10,000 of 5 MiB", async () => {
    const begun = await beginUpload(client, 10_000 * PART + 1);
    expect(begun.part_size).toBe(6 * MIB);
    expect(begun.urls).toHaveLength(Math.ceil(begun.size / begun.part_size));
  });

  test.each<[unknown, string, string]>([
    [0, "greater_than_equal", "1"],
    [-1, "greater_than_equal", "1"],
    [1.5, "int_from_float", "integer"],
    [2 ** 53, "less_than_equal", String(2 ** 53 - 1)],
    [10_000 * 95 * MIB + 1, "less_than_equal", String(10_000 * 95 * MIB)],
    ["5", "int_type", "integer"],
    [null, "int_type", "integer"],
    [undefined, "missing", "required"],
  ])("an upload of %s bytes is refused", async (size, type, words) => {
    const response = await client.post("/v1/uploads", { size, mime_type: "image/png" });
    const { status, detail } = await refusal(response);
    expect(status).toBe(422);
    expect(detail).toMatchObject([
      { loc: ["body", "size"], type, msg: expect.stringContaining(words) },
    ]);
  });

  test.each<[string, object]>([
    ["a type without a slash", { mime_type: "png" }],
    ["a type with a line break", { mime_type: "image/png\r\nx: y" }],
    ["a name with a slash", { name: "../a" }],
    ["a name with a line break", { name: "a\nb" }],
    ["half of a surrogate pair", { name: "\ud83d" }],
    ["a name of 256 characters", { name: "x".repeat(256) }],
    ["an empty name", { name: "" }],
  ])("an upload with %s is refused", async (_, facts) => {
    const body = { size: 1, mime_type: "image/png", ...facts };
    expect((await client.post("/v1/uploads", body)).status).toBe(422);
  });

  test("an upload is refused while a thousand others of its account are pending", async () => {
    const many = await newUser();
    const { id } = await beginUpload(many.client, 1);
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
       INSERT INTO uploads (id, user_id, key, multipart_id, size, mime_type, part_size, created_at, expires_at)
       SELECT ? || i, user_id, key, multipart_id, size, mime_type, part_size, created_at, expires_at
       FROM uploads, n WHERE id = ?`,
    )
      .bind(unique("u"), id)
      .run();
    const response = await many.client.post("/v1/uploads", { size: 1, mime_type: "image/png" });
    expect(response.headers.get("retry-after")).not.toBeNull();
    expect(await refusal(response)).toMatchObject({
      status: 429,
      detail: expect.stringContaining("1000"),
    });
    expect((await client.post("/v1/uploads", { size: 1, mime_type: "image/png" })).status).toBe(
      200,
    );
    await many.client.ok("DELETE", `/v1/uploads/${id}`);
    expect((await beginUpload(many.client, 1)).status).toBe("pending");
    await env.DB.prepare("DELETE FROM uploads WHERE user_id = ?").bind(many.user_id).run();
  });
});

describe("parts", () => {
  test("parts can arrive in any order, at once and again, and the last ones count", async () => {
    const bytes = bytesOf(PART + 5);
    const begun = await beginUpload(client, bytes.length);
    const wrong = await sendPart(begun.urls[1], "wrong");
    const etags = await sendParts(begun, bytes);
    expect(etags[1]).not.toBe(wrong);
    const pending = await client.ok<Upload>("GET", `/v1/uploads/${begun.id}`);
    expect(pending.parts).toEqual(etags.map((etag, n) => ({ part_number: n + 1, etag })));
    const done = await client.ok<Upload>("POST", `/v1/uploads/${begun.id}/complete`, { etags });
    expect(done).toMatchObject({ status: "completed", size: bytes.length, urls: [], parts: [] });
    expect(await digestOf(await nobody.fetch(fileUrl(done)))).toBe(await digestOf(bytes));
  });

  test("a part that is cut off does not count, and can be sent again", async () => {
    const bytes = bytesOf(MIB);
    const begun = await beginUpload(client, bytes.length);
    const { readable, writable } = new FixedLengthStream(bytes.length);
    const answer = putPart(begun.urls[0], readable).then(
      ({ status }) => status,
      () => "broken",
    );
    const writer = writable.getWriter();
    await writer.write(bytes.slice(0, 300_000));
    await writer.abort(new Error("the line is cut"));
    expect(await answer).not.toBe(200);
    expect((await client.ok<Upload>("GET", `/v1/uploads/${begun.id}`)).parts).toEqual([]);
    const etags = await sendParts(begun, bytes);
    const done = await client.ok<Upload>("POST", `/v1/uploads/${begun.id}/complete`, { etags });
    expect(await digestOf(await nobody.fetch(fileUrl(done)))).toBe(await digestOf(bytes));
  });

  test("parts must have exactly their declared length", async () => {
    const begun = await beginUpload(client, PART + 5);
    const [first, last] = begun.urls;
    const short = bytesOf(PART - 1);
    expect(await refusedPart(first, short)).toEqual({
      status: 400,
      detail: `Part 1 must have exactly ${PART} bytes; this request has ${PART - 1}.`,
    });
    expect((await refusedPart(last, "123456")).detail).toContain("exactly 5 bytes");
    expect((await refusedPart(last, "")).status).toBe(400);
    const stream = new Response("12345").body?.pipeThrough(new TransformStream());
    expect(await refusedPart(last, stream ?? "")).toMatchObject({
      status: 400,
      detail: expect.stringContaining("Content-Length"),
    });
    expect((await client.ok<Upload>("GET", `/v1/uploads/${begun.id}`)).parts).toEqual([]);
  });

  test("parts whose bytes are swapped are refused", async () => {
    const bytes = bytesOf(PART + 5);
    const { urls } = await beginUpload(client, bytes.length);
    expect((await refusedPart(urls[0], bytes.slice(PART))).status).toBe(400);
    expect((await refusedPart(urls[1], bytes.slice(0, PART))).status).toBe(400);
  });

  test("parts are accepted until their URL expires", async () => {
    const { urls } = await beginUpload(client, 3);
    advance(86_399);
    await sendPart(urls[0], "abc");
    advance(2);
    expect(await refusedPart(urls[0], "abc")).toEqual({
      status: 403,
      detail:
        "This URL has expired. GET /v1/uploads/{id} returns new ones while the upload is pending.",
    });
  });

  test("parts are refused at a URL that was altered", async () => {
    const { id, urls } = await beginUpload(client, 3);
    const other = await beginUpload(client, 3);
    const [address = ""] = urls;
    const changed = (change: (url: URL) => void) => {
      const url = new URL(address);
      change(url);
      return url.href;
    };
    const query = (name: string, value: string) =>
      changed(({ searchParams }) => searchParams.set(name, value));
    const { searchParams } = new URL(address);
    const signature = searchParams.get("signature") ?? "";
    const altered = [
      address.replace(id, other.id),
      address.replace("/parts/1?", "/parts/2?"),
      query("size", "4"),
      query("holder", crypto.randomUUID()),
      changed((one) => one.searchParams.delete("holder")),
      query("expires", String(Number(searchParams.get("expires")) + 1)),
      query("signature", `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`),
      query("signature", new URL(other.urls[0] ?? "").searchParams.get("signature") ?? ""),
    ];
    for (const url of altered) {
      expect(await refusedPart(url, "abcd".slice(0, url.includes("size=4") ? 4 : 3))).toMatchObject(
        {
          status: 403,
          detail: expect.stringContaining("signature"),
        },
      );
    }
    for (const name of ["size", "expires", "signature"]) {
      const url = changed((one) => one.searchParams.delete(name));
      const { status, detail } = await refusedPart(url, "abc");
      expect(status).toBe(422);
      expect(detail).toMatchObject([{ loc: ["query", name], type: "missing" }]);
    }
    // The owner's token does not replace the signature.
    const url = query("signature", "A".repeat(43));
    expect((await client.fetch(url, { method: "PUT", body: "abc" })).status).toBe(403);
    expect((await client.ok<Upload>("GET", `/v1/uploads/${id}`)).parts).toEqual([]);
  });
});

describe("somebody else's upload", () => {
  test("an upload of another user is a 404, pending or completed", async () => {
    const stranger = (await newUser()).client;
    const begun = await beginUpload(client, 3);
    const etags = await sendParts(begun, bytesOf(3));
    const path = `/v1/uploads/${begun.id}`;
    const unknown = `/v1/uploads/${crypto.randomUUID()}`;
    const ask = async (at: string) => [
      await refusal(await stranger.fetch(at)),
      await refusal(await stranger.post(`${at}/complete`, { etags })),
      await refusal(await stranger.fetch(at, { method: "DELETE" })),
    ];
    const hidden = async () =>
      JSON.parse(JSON.stringify(await ask(path)).replaceAll(begun.id, "X"));
    const none = JSON.parse(JSON.stringify(await ask(unknown)).replaceAll(unknown.slice(12), "X"));
    expect(none).toMatchObject([{ status: 404 }, { status: 404 }, { status: 404 }]);
    expect(await hidden()).toEqual(none);
    await client.ok("POST", `${path}/complete`, { etags });
    expect(await hidden()).toEqual(none);
  });
});

describe("an invalid completion", () => {
  const completing = async (id: string, etags: unknown[]) =>
    refusal(await client.post(`/v1/uploads/${id}/complete`, { etags }));

  test("a completion with missing parts is refused with their numbers", async () => {
    const begun = await beginUpload(client, 12 * PART);
    expect(await completing(begun.id, ["x"])).toEqual({
      status: 409,
      detail:
        "12 of 12 parts are missing: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more. PUT them to their URLs, then complete again.",
    });
    const small = await beginUpload(client, PART + 5);
    const last = await sendPart(small.urls[1], "12345");
    expect(await completing(small.id, [last, last])).toMatchObject({
      status: 409,
      detail: expect.stringContaining("1 of 2 parts are missing: 1."),
    });
  });

  test("a completion with swapped, unknown, too few or too many ETags is refused", async () => {
    const begun = await beginUpload(client, PART + 5);
    const [one = "", two = ""] = await sendParts(begun, bytesOf(PART + 5));
    const swapped = await completing(begun.id, [two, one]);
    expect(swapped.status).toBe(422);
    expect(swapped.detail).toMatchObject([
      { loc: ["body", "etags", "0"], msg: "the ETag does not match part 1: it is that of part 2" },
      { loc: ["body", "etags", "1"], msg: "the ETag does not match part 2: it is that of part 1" },
    ]);
    expect((await completing(begun.id, [one, "nonsense"])).detail).toMatchObject([
      { msg: "the ETag does not match part 2: it is not that of any part" },
    ]);
    expect((await completing(begun.id, [one])).detail).toMatchObject([
      { loc: ["body", "etags"], type: "too_short" },
    ]);
    expect((await completing(begun.id, [one, two, two])).detail).toMatchObject([
      { loc: ["body", "etags"], type: "too_long" },
    ]);
    for (const etags of [[], [1], "x", Array<string>(10_001).fill("x")]) {
      const body = { etags };
      expect((await client.post(`/v1/uploads/${begun.id}/complete`, body)).status).toBe(422);
    }
    expect((await client.ok<Upload>("GET", `/v1/uploads/${begun.id}`)).status).toBe("pending");
    await client.ok("POST", `/v1/uploads/${begun.id}/complete`, { etags: [one, two] });
  });

  test("a completion with the ETag of a replaced part is refused", async () => {
    const begun = await beginUpload(client, 3);
    const old = await sendPart(begun.urls[0], "abc");
    const etag = await sendPart(begun.urls[0], "xyz");
    const { status, detail } = await completing(begun.id, [old]);
    expect([status, (detail as ValidationIssue[])[0]?.type]).toEqual([422, "value_error"]);
    const done = await client.ok<Upload>("POST", `/v1/uploads/${begun.id}/complete`, {
      etags: [etag],
    });
    expect(await (await nobody.fetch(fileUrl(done))).text()).toBe("xyz");
  });
});
