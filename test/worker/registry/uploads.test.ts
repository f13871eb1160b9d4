/** Uploads of blobs in every way that clients use. */
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { MAX_CHUNK_BYTES, PART_BYTES } from "../../../src/domain/registry/chunk.ts";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { services } from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import {
  type Bytes,
  digestOf,
  expectError,
  newRepository,
  randomBytes,
  sha512Of,
  streamOf,
} from "../support/registry.ts";

test("a blob can arrive in one PUT with its length, as from containerd and oras", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(100_000);
  const digest = await repository.push(bytes);
  expect(await repository.blob(digest)).toEqual(bytes);
  const head = await repository.send("HEAD", `blobs/${digest}`);
  expect(head.status).toBe(200);
  expect(head.headers.get("content-length")).toBe("100000");
  expect(head.headers.get("docker-content-digest")).toBe(digest);
  expect(head.headers.get("cache-control")).toContain("no-transform");
});

test("a blob can arrive in one PATCH without a length, as from docker and podman", async () => {
  const repository = await newRepository();
  const chunks = [randomBytes(PART_BYTES - 5), randomBytes(70_000), randomBytes(1)];
  const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
  const location = await repository.begin();
  const patched = await repository.patch(location, streamOf(...chunks));
  expect(patched.status).toBe(202);
  expect(patched.headers.get("range")).toBe(`0-${bytes.byteLength - 1}`);
  const digest = digestOf(bytes);
  const put = await repository.finish(patched.headers.get("location") ?? "", digest);
  expect(put.status).toBe(201);
  expect(put.headers.get("docker-content-digest")).toBe(digest);
  expect(digestOf(await repository.blob(digest))).toBe(digest);
});

test("a blob can arrive in one PATCH with its length, as from crane", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(PART_BYTES + 100);
  const location = await repository.begin();
  expect((await repository.patch(location, bytes)).status).toBe(202);
  const digest = digestOf(bytes);
  expect((await repository.finish(location, digest)).status).toBe(201);
  expect(digestOf(await repository.blob(digest))).toBe(digest);
});

test("a blob can arrive in many PATCHes of any length, with the last chunk in the PUT", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(2 * PART_BYTES + 1_000);
  const cuts = [0, 10, 3_000_000, PART_BYTES, PART_BYTES + 77, 2 * PART_BYTES + 500];
  const location = await repository.begin();
  for (const [n, first] of cuts.slice(0, -1).entries()) {
    const response = await repository.chunk(location, bytes.slice(first, cuts[n + 1]), first);
    expect(response.status, await response.text()).toBe(202);
  }
  const digest = digestOf(bytes);
  const end = cuts.at(-1) ?? 0;
  expect((await repository.finish(location, digest, bytes.slice(end))).status).toBe(201);
  expect(digestOf(await repository.blob(digest))).toBe(digest);
});

test("a new upload names the permitted lengths of chunks", async () => {
  const repository = await newRepository();
  const begun = await repository.send("POST", "blobs/uploads/");
  expect(begun.headers.get("oci-chunk-min-length")).toBe(String(PART_BYTES));
  expect(begun.headers.get("oci-chunk-max-length")).toBe(String(MAX_CHUNK_BYTES));
});

test("a chunk out of order is refused with the upload's range", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(300);
  const location = await repository.begin();
  await repository.chunk(location, bytes.slice(0, 100), 0);
  const refused = await repository.chunk(location, bytes.slice(200), 200);
  expect(refused.headers.get("range")).toBe("0-99");
  await expectError(refused, 416, "BLOB_UPLOAD_INVALID");
  const status = await repository.send("GET", location);
  expect(status.status).toBe(204);
  expect(status.headers.get("range")).toBe("0-99");
  await repository.chunk(location, bytes.slice(100), 100);
  expect((await repository.finish(location, digestOf(bytes))).status).toBe(201);
});

test("a blob with another digest is refused, and not kept", async () => {
  const repository = await newRepository();
  const [bytes, other] = [randomBytes(50), digestOf("other")];
  await expectError(
    await repository.finish(await repository.begin(), other, bytes),
    400,
    "DIGEST_INVALID",
  );
  const location = await repository.begin();
  await repository.patch(location, bytes);
  await expectError(await repository.finish(location, other), 400, "DIGEST_INVALID");
  await expectError(await repository.send("GET", location), 404, "BLOB_UPLOAD_UNKNOWN");
  expect(await repository.has(other)).toBe(false);
  expect(await repository.has(digestOf(bytes))).toBe(false);
});

test("a blob can be empty, or have a SHA-512 digest", async () => {
  const repository = await newRepository();
  const empty = digestOf("");
  const location = await repository.begin();
  expect((await repository.finish(location, empty)).status).toBe(201);
  expect((await repository.blob(empty)).byteLength).toBe(0);
  const bytes = randomBytes(500);
  const digest = await sha512Of(bytes);
  const second = await repository.begin();
  await repository.patch(second, bytes);
  expect((await repository.finish(second, digest)).status).toBe(201);
  expect(await repository.blob(digest)).toEqual(bytes);
});

test("a PUT that is sent again finds the blob", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(50);
  const location = await repository.begin();
  await repository.patch(location, bytes);
  expect((await repository.finish(location, digestOf(bytes))).status).toBe(201);
  expect((await repository.finish(location, digestOf(bytes))).status).toBe(201);
});

test("a canceled upload is gone", async () => {
  const repository = await newRepository();
  const location = await repository.begin();
  await repository.patch(location, randomBytes(50));
  expect((await repository.send("DELETE", location)).status).toBe(204);
  await expectError(await repository.send("GET", location), 404, "BLOB_UPLOAD_UNKNOWN");
});

test("an upload whose body breaks off loses less than a part", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(PART_BYTES + 500_000);
  const location = await repository.begin();
  const { readable, writable } = new TransformStream<Bytes, Bytes>();
  const place = { "content-range": `0-${bytes.byteLength - 1}` };
  const patching = repository.patch(location, readable, place).catch(() => {});
  const writer = writable.getWriter();
  await writer.write(bytes.slice(0, PART_BYTES + 1_000));
  await eventually(async () => {
    const status = await repository.send("GET", location);
    expect(status.headers.get("range")).toBe(`0-${PART_BYTES - 1}`);
  });
  await writer.abort(new Error("the connection closed"));
  await patching;
  expect((await repository.chunk(location, bytes.slice(PART_BYTES), PART_BYTES)).status).toBe(202);
  expect((await repository.finish(location, digestOf(bytes))).status).toBe(201);
});

test("a PUT that failed in D1 finds its bytes when it is sent again, also after a sweep", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(50);
  const location = await repository.begin();
  await repository.patch(location, bytes);
  const batch = vi.spyOn(env.DB, "batch").mockRejectedValueOnce(new Error("D1 is down"));
  expect((await repository.finish(location, digestOf(bytes))).status).toBe(500);
  batch.mockRestore();
  await sweepRegistry(services, Date.now());
  expect((await repository.finish(location, digestOf(bytes))).status).toBe(201);
  expect(await repository.blob(digestOf(bytes))).toEqual(bytes);
});
