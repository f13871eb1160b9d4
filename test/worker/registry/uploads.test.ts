/** Uploads of blobs of several parts, and uploads that fail. The ways to send a blob are in conformance/. */
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { PART_BYTES } from "../../../src/domain/registry/chunk.ts";
import { sweepRegistry } from "../../../src/services/registry/sweep-registry.ts";
import { services } from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import {
  type Bytes,
  digestOf,
  expectError,
  newRepository,
  randomBytes,
  streamOf,
} from "../support/registry.ts";

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

test("a blob can arrive in many PATCHes of any length, with the last chunk in the PUT", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(PART_BYTES + 1_000);
  const cuts = [0, 10, 3_000_000, PART_BYTES, PART_BYTES + 77];
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

test("an upload with another digest is gone", async () => {
  const repository = await newRepository();
  const location = await repository.begin();
  await repository.patch(location, randomBytes(50));
  const put = await repository.finish(location, digestOf("other"));
  await expectError(put, 400, "DIGEST_INVALID");
  await expectError(await repository.send("GET", location), 404, "BLOB_UPLOAD_UNKNOWN");
});

test("a PUT that is sent again finds the blob", async () => {
  const repository = await newRepository();
  const bytes = randomBytes(50);
  const location = await repository.begin();
  await repository.patch(location, bytes);
  expect((await repository.finish(location, digestOf(bytes))).status).toBe(201);
  expect((await repository.finish(location, digestOf(bytes))).status).toBe(201);
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
