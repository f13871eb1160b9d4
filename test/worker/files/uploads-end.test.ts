/** The end of uploads: completion, also by several at once and after crashes, deletion and the sweep. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Upload } from "../../../src/protocol/upload.ts";
import { database } from "../../../src/storage/database.ts";
import { claimUpload, keepUploads } from "../../../src/storage/files/uploads.ts";
import type { Client } from "../support/client.ts";
import {
  beginRunnerUpload,
  beginUpload,
  complete,
  fileUrl,
  isUnderWay,
  keysBelow,
  nobody,
  putPart,
  rowOfUpload,
  sendPart,
  uploaded,
  uploadRow,
} from "../support/files.ts";
import { sweep } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const DAY = 86_400;
const { client } = await newUser();

/** Makes an upload whose only part has arrived. */
async function arrived(content = "abc") {
  const begun = await beginUpload(client, content.length);
  return { ...begun, etag: await sendPart(begun.urls[0], content) };
}

const contentOf = async (done: Upload) => (await nobody.fetch(fileUrl(done))).text();

const countParts = () =>
  env.DB.prepare("SELECT count(*) AS n FROM upload_parts").first<number>("n");

describe("completion", () => {
  test("a repeated completion has the same answer, whatever its ETags", async () => {
    const { id, etag } = await arrived();
    const first = await complete(client, id, [etag]);
    expect(first).toMatchObject({
      status: 200,
      body: { status: "completed", file_url: expect.any(String) },
    });
    expect((await complete(client, id, [etag])).body).toEqual(first.body);
    expect((await complete(client, id, ["x", "y"])).body).toEqual(first.body);
    expect(await client.ok("GET", `/v1/uploads/${id}`)).toEqual(first.body);
    expect(await contentOf(first.body)).toBe("abc");
  });

  test("eight completions at once make one file", async () => {
    const { id, etag } = await arrived();
    const all = await Promise.all(Array.from({ length: 8 }, () => complete(client, id, [etag])));
    expect(all.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(await keysBelow(id)).toHaveLength(1);
    expect(await contentOf(all[0]?.body as Upload)).toBe("abc");
  });

  test("a completion that broke off after R2's part can be finished", async () => {
    const { id, etag } = await arrived();
    const { key, multipart_id } = await rowOfUpload(id);
    const bare = etag.replaceAll('"', "");
    await env.FILES.resumeMultipartUpload(key, multipart_id).complete([
      { partNumber: 1, etag: bare },
    ]);
    expect((await client.ok<Upload>("GET", `/v1/uploads/${id}`)).status).toBe("pending");
    const done = await complete(client, id, [etag]);
    expect(done).toMatchObject({ status: 200, body: { status: "completed", parts: [] } });
    expect(await contentOf(done.body)).toBe("abc");
  });

  test("a completion accepts R2's ETag if D1 has that of a concurrent part", async () => {
    const { id, etag } = await arrived();
    await env.DB.prepare("UPDATE upload_parts SET etag = 'of the other' WHERE upload_id = ?")
      .bind(id)
      .run();
    expect((await complete(client, id, [etag])).status).toBe(200);
  });

  test.each([
    ["with quotes", (etag: string) => etag],
    ["without quotes", (etag: string) => etag.replaceAll('"', "")],
    ["made weak on its way", (etag: string) => `W/${etag}`],
  ])("a completion takes ETags %s", async (_, written) => {
    const { id, etag } = await arrived();
    expect((await complete(client, id, [written(etag)])).status).toBe(200);
  });

  test("a completion with a part that differs in R2 is a 409 that asks for the part again", async () => {
    const { id, etag, urls } = await arrived();
    const { key, multipart_id } = await rowOfUpload(id);
    await env.FILES.resumeMultipartUpload(key, multipart_id).uploadPart(1, "xyz");
    const stale = await client.refused(`/v1/uploads/${id}/complete`, { etags: [etag] });
    expect(stale).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("again") },
    });
    const again = await sendPart(urls[0], "abc");
    expect(await contentOf((await complete(client, id, [again])).body)).toBe("abc");
  });

  test("a completion removes the rows of parts, and refuses further parts", async () => {
    const before = await countParts();
    const { id, etag, urls } = await arrived();
    const { key, multipart_id } = await rowOfUpload(id);
    await complete(client, id, [etag]);
    expect(await countParts()).toBe(before);
    for (let times = 0; times < 2; times++) {
      expect((await putPart(urls[0], "xyz")).status).toBe(409);
    }
    expect(await isUnderWay(key, multipart_id)).toBe(false);
    expect(await countParts()).toBe(before);
  });

  test("a completion that fails in D1 is finished by the next one", async () => {
    const { id, etag } = await arrived();
    const batch = vi.spyOn(env.DB, "batch").mockRejectedValueOnce(new Error("D1 is down"));
    expect((await complete(client, id, [etag])).status).toBe(500);
    batch.mockRestore();
    expect((await complete(client, id, [etag])).status).toBe(200);
  });
});

describe("deleting", () => {
  test("the deletion of a pending upload removes its parts", async () => {
    const { id, etag, urls } = await arrived();
    const { key, multipart_id } = await rowOfUpload(id);
    const parts = await countParts();
    expect(await client.json("DELETE", `/v1/uploads/${id}`)).toMatchObject({
      status: 200,
      body: {},
    });
    expect(await isUnderWay(key, multipart_id)).toBe(false);
    expect(await uploadRow(id)).toBeNull();
    expect(await countParts()).toBe((parts ?? 0) - 1);
    expect((await client.fetch(`/v1/uploads/${id}`)).status).toBe(404);
    expect((await complete(client, id, [etag])).status).toBe(404);
    expect((await putPart(urls[0], "abc")).status).toBe(404);
    expect((await client.fetch(`/v1/uploads/${id}`, { method: "DELETE" })).status).toBe(404);
  });

  test("the deletion of a completed upload removes its file", async () => {
    const done = await uploaded(client);
    expect(await keysBelow(done.id)).toHaveLength(1);
    await client.ok("DELETE", `/v1/uploads/${done.id}`);
    expect(await keysBelow(done.id)).toEqual([]);
    expect(await uploadRow(done.id)).toBeNull();
    expect((await nobody.fetch(fileUrl(done))).status).toBe(404);
  });

  test("a part under way during the deletion is refused, and nothing stays", async () => {
    const { id, urls } = await beginUpload(client, 300_000);
    const { key, multipart_id } = await rowOfUpload(id);
    const { readable, writable } = new FixedLengthStream(300_000);
    const answer = putPart(urls[0], readable);
    const writer = writable.getWriter();
    await writer.write(new Uint8Array(100_000));
    await client.ok("DELETE", `/v1/uploads/${id}`);
    await writer.write(new Uint8Array(200_000));
    await writer.close();
    expect((await answer).status).toBe(409);
    expect(await isUnderWay(key, multipart_id)).toBe(false);
    expect(await keysBelow(id)).toEqual([]);
  });

  test("a part is refused if the deletion comes before its row is written", async () => {
    const { id, urls } = await beginUpload(client, 3);
    const resume = env.FILES.resumeMultipartUpload.bind(env.FILES);
    vi.spyOn(env.FILES, "resumeMultipartUpload").mockImplementation((key, multipartId) => {
      const multipart = resume(key, multipartId);
      const uploadPart = multipart.uploadPart.bind(multipart);
      return Object.assign(Object.create(multipart), {
        abort: () => multipart.abort(),
        async uploadPart(...args: Parameters<typeof uploadPart>) {
          const part = await uploadPart(...args);
          await client.ok("DELETE", `/v1/uploads/${id}`);
          return part;
        },
      });
    });
    expect((await putPart(urls[0], "abc")).status).toBe(409);
  });

  test("a deletion and a completion at once leave nothing of the upload", async () => {
    for (let times = 0; times < 5; times++) {
      const { id, etag } = await arrived();
      const { key, multipart_id } = await rowOfUpload(id);
      const [completed, deleted] = await Promise.all([
        complete(client, id, [etag]),
        client.json("DELETE", `/v1/uploads/${id}`),
      ]);
      expect(deleted.status).toBe(200);
      expect([200, 404, 409]).toContain(completed.status);
      expect(await keysBelow(id)).toEqual([]);
      expect(await uploadRow(id)).toBeNull();
      expect(await isUnderWay(key, multipart_id)).toBe(false);
    }
  });
});

describe("the sweep", () => {
  const swept = async (id: string) => {
    await sweep();
    return (await uploadRow(id)) === null;
  };

  test("the sweep aborts a pending upload after a day", async () => {
    const { id } = await arrived();
    const { key, multipart_id } = await rowOfUpload(id);
    advance(DAY - 1);
    expect(await swept(id)).toBe(false);
    advance(2);
    expect(await swept(id)).toBe(true);
    expect(await isUnderWay(key, multipart_id)).toBe(false);
    expect(await keysBelow(id)).toEqual([]);
  });

  test("the sweep removes a completed upload 30 days after its completion", async () => {
    const { id, etag } = await arrived();
    advance(DAY / 2);
    const done = (await complete(client, id, [etag])).body;
    expect(Date.parse(done.expires_at)).toBe(Date.now() + 30 * DAY * 1000);
    advance(30 * DAY - 1);
    expect(await swept(id)).toBe(false);
    expect(await keysBelow(id)).toHaveLength(1);
    advance(2);
    expect(await swept(id)).toBe(true);
    expect(await keysBelow(id)).toEqual([]);
  });

  test("the sweep's date moves with a use by a prediction, not with a refused use of another user", async () => {
    const world = await newWorld({ visibility: "public" });
    const stranger: Client = await world.stranger();
    const done = await uploaded(world.client);
    advance(20 * DAY);
    const body = { model: world.model, input: { image: `/v1/uploads/${done.id}` } };
    expect((await stranger.refused("/v1/predictions", body)).status).toBe(422);
    expect((await rowOfUpload(done.id)).expires_at).toBe(Date.parse(done.expires_at));
    await world.client.create(body);
    expect((await rowOfUpload(done.id)).expires_at).toBe(Date.now() + 30 * DAY * 1000);
    advance(11 * DAY);
    expect(await swept(done.id)).toBe(false);
    advance(20 * DAY);
    expect(await swept(done.id)).toBe(true);
  });

  test("the sweep does not claim an upload that was completed or used since it was read", async () => {
    const db = database(env.DB);
    const pending = await arrived();
    const before = await rowOfUpload(pending.id);
    const done = (await complete(client, pending.id, [pending.etag])).body;
    expect(await claimUpload(db, before, Date.now())).toBeUndefined();
    const unused = await rowOfUpload(done.id);
    await keepUploads(db, [done.id], unused.expires_at + 1);
    expect(await claimUpload(db, unused, Date.now())).toBeUndefined();
    expect(await contentOf(done)).toBe("abc");
  });

  test("an upload that the sweep has claimed is a 404, and cannot be completed or used", async () => {
    const world = await newWorld();
    const pending = await beginUpload(world.client, 3);
    const etag = await sendPart(pending.urls[0], "abc");
    const done = await uploaded(world.client);
    const db = database(env.DB);
    for (const { id } of [pending, done]) await claimUpload(db, await rowOfUpload(id), Date.now());
    expect((await complete(world.client, pending.id, [etag])).status).toBe(404);
    expect((await world.client.json("GET", `/v1/uploads/${done.id}`)).status).toBe(404);
    const body = { model: world.model, input: { image: `/v1/uploads/${done.id}` } };
    expect((await world.client.refused("/v1/predictions", body)).status).toBe(422);
    // The next sweep finishes a removal that broke off there.
    advance(31 * DAY);
    expect([await swept(pending.id), await swept(done.id)]).toEqual([true, true]);
    expect([...(await keysBelow(pending.id)), ...(await keysBelow(done.id))]).toEqual([]);
  });

  test("the sweep removes a runner's upload that was completed only in R2", async () => {
    const { runner, job, id } = await (await newWorld()).begun();
    const begun = await beginRunnerUpload(runner, job, 3);
    const etag = await sendPart(begun.urls[0], "abc");
    const { key, multipart_id } = await rowOfUpload(begun.id);
    await env.FILES.resumeMultipartUpload(key, multipart_id).complete([
      { partNumber: 1, etag: etag.replaceAll('"', "") },
    ]);
    expect(await keysBelow(id)).toHaveLength(1);
    advance(DAY + 1);
    expect(await swept(begun.id)).toBe(true);
    expect(await keysBelow(id)).toEqual([]);
  });

  test("the sweep goes on after an upload that R2 refuses", async () => {
    const bad = await arrived();
    const good = await arrived();
    advance(DAY + 1);
    await env.DB.prepare("UPDATE uploads SET multipart_id = 'not one of R2' WHERE id = ?")
      .bind(bad.id)
      .run();
    expect(await swept(good.id)).toBe(true);
    await env.DB.prepare("DELETE FROM uploads WHERE id = ?").bind(bad.id).run();
  });

  test("the sweep finishes the removal of an upload whose file is already gone", async () => {
    const { id } = await uploaded(client);
    const { key } = await rowOfUpload(id);
    await env.FILES.delete(key);
    advance(31 * DAY);
    expect(await swept(id)).toBe(true);
  });
});
