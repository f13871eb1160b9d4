/** The cases of OCI's conformance suite (distribution-spec, conformance/) for blobs, under its names. */
import { describe, expect, test } from "vitest";
import { sized } from "../../../support/sized.ts";
import { chunked, OCTETS } from "../../support/chunked.ts";
import { type Algorithm, digestIn } from "../../support/conformance.ts";
import {
  type Bytes,
  bytesOf,
  expectError,
  newRepository,
  Repository,
  randomBytes,
  streamOf,
} from "../../support/registry.ts";

const repo = await newRepository();
const repo2 = new Repository(repo.client, `${repo.username}/second`);
// The suite expects both repositories to exist.
for (const one of [repo, repo2]) await one.push(bytesOf("{}"));

const ALGORITHMS = sized<Algorithm[]>(["sha256"], ["sha256", "sha512"]);

const postWhole = (digest: string, body: Bytes) =>
  repo.send("POST", `blobs/uploads/?digest=${digest}`, { body, headers: OCTETS });

const postAndPut = async (to: Repository, digest: string, body: Bytes) =>
  to.finish(await to.begin(), digest, body);

async function stream(digest: string, body: Bytes): Promise<Response> {
  const patched = await repo.patch(await repo.begin(), streamOf(body));
  expect(patched.status, await patched.text()).toBe(202);
  return repo.finish(patched.headers.get("location") ?? "", digest);
}

/** Checks that the blob is at the answer's location, which is that of its digest. */
async function expectBlob(answer: Response, digest: string, bytes: Bytes): Promise<void> {
  expect(answer.status, await answer.text()).toBe(201);
  expect(answer.headers.get("docker-content-digest")).toBe(digest);
  const path = `/v2/${repo.name}/blobs/${digest}`;
  expect(answer.headers.get("location")).toBe(path);
  const head = await repo.send("HEAD", path);
  const read = await repo.send("GET", path);
  for (const { status, headers } of [head, read]) {
    expect(status).toBe(200);
    expect(headers.get("content-length")).toBe(String(bytes.byteLength));
    expect(headers.get("docker-content-digest")).toBe(digest);
    expect(headers.get("cache-control")).toContain("no-transform");
  }
  expect(await head.text()).toBe("");
  expect(new Uint8Array(await read.arrayBuffer())).toEqual(bytes);
}

async function expectDeleted(from: Repository, digest: string): Promise<void> {
  expect((await from.send("DELETE", `blobs/${digest}`)).status).toBe(202);
  expect((await from.send("HEAD", `blobs/${digest}`)).status).toBe(404);
}

describe.each(ALGORITHMS)("%s blobs", (algorithm) => {
  const newBlob = async (length = 512) => {
    const bytes = randomBytes(length);
    return { bytes, digest: await digestIn(algorithm, bytes) };
  };

  test("get-missing", async () => {
    const { digest } = await newBlob();
    await expectError(await repo.send("GET", `blobs/${digest}`), 404, "BLOB_UNKNOWN");
  });

  test.each<[string, (digest: string, bytes: Bytes) => Promise<Response>, number?]>([
    ["post only", postWhole],
    ["post+put", (digest, bytes) => postAndPut(repo, digest, bytes)],
    ["chunked single", (digest, bytes) => chunked(repo, digest, bytes, { length: 512 })],
    ["stream", stream],
    ["chunked multi", (digest, bytes) => chunked(repo, digest, bytes, { length: 171 })],
    [
      "chunked multi and put chunk",
      (digest, bytes) => chunked(repo, digest, bytes, { length: 171, putsLast: true }),
    ],
    [
      "chunked out-of-order",
      (digest, bytes) => chunked(repo, digest, bytes, { length: 171, outOfOrder: true }),
    ],
    [
      "chunked out-of-order and put chunk",
      (digest, bytes) =>
        chunked(repo, digest, bytes, { length: 171, outOfOrder: true, putsLast: true }),
    ],
  ])("%s", async (_, push) => {
    const { bytes, digest } = await newBlob();
    await expectBlob(await push(digest, bytes), digest, bytes);
    await expectDeleted(repo, digest);
  });

  test.each([
    ["mount", `&from=${repo2.name}`],
    ["mount anonymous", ""],
  ])("%s", async (_, from) => {
    const { bytes, digest } = await newBlob();
    expect((await postAndPut(repo2, digest, bytes)).status).toBe(201);
    const mounted = await repo.send("POST", `blobs/uploads/?mount=${digest}${from}`);
    await expectBlob(mounted, digest, bytes);
    await expectDeleted(repo, digest);
    await expectDeleted(repo2, digest);
  });

  test("mount missing", async () => {
    const { bytes, digest } = await newBlob();
    const begun = await repo.send("POST", `blobs/uploads/?mount=${digest}&from=${repo2.name}`);
    expect(begun.status).toBe(202);
    const put = await repo.finish(begun.headers.get("location") ?? "", digest, bytes);
    await expectBlob(put, digest, bytes);
    await expectDeleted(repo, digest);
  });

  test("post cancel", async () => {
    const location = await repo.begin();
    expect((await repo.send("DELETE", location)).status).toBe(204);
    await expectError(await repo.send("GET", location), 404, "BLOB_UPLOAD_UNKNOWN");
  });

  test.each([
    ["empty", ""],
    ["emptyJSON", "{}"],
  ])("%s", async (_, text) => {
    const bytes = bytesOf(text);
    const digest = await digestIn(algorithm, bytes);
    await expectBlob(await postAndPut(repo, digest, bytes), digest, bytes);
    await expectDeleted(repo, digest);
    await expectBlob(await postWhole(digest, bytes), digest, bytes);
    await expectDeleted(repo, digest);
  });

  test.each<[string, (digest: string, bytes: Bytes) => Promise<Response>]>([
    ["bad digest post only", postWhole],
    ["bad digest post+put", (digest, bytes) => postAndPut(repo, digest, bytes)],
    ["bad digest chunked", (digest, bytes) => chunked(repo, digest, bytes, { length: 171 })],
    [
      "bad digest chunked and put chunk",
      (digest, bytes) => chunked(repo, digest, bytes, { length: 171, putsLast: true }),
    ],
    ["bad digest stream", stream],
  ])("%s", async (_, push) => {
    const { bytes } = await newBlob();
    const other = await newBlob();
    await expectError(await push(other.digest, bytes), 400, "DIGEST_INVALID");
    for (const digest of [other.digest, await digestIn(algorithm, bytes)])
      expect((await repo.send("HEAD", `blobs/${digest}`)).status).toBe(404);
  });

  test("range requests", async () => {
    const { bytes, digest } = await newBlob(2048);
    expect((await postAndPut(repo, digest, bytes)).status).toBe(201);
    const ranges: [string, number, number][] = [
      ["500-1499", 500, 1499],
      ["500-", 500, 2047],
      ["-500", 1548, 2047],
      ["2000-5000", 2000, 2047],
    ];
    for (const [range, first, last] of ranges) {
      const read = await repo.send("GET", `blobs/${digest}`, {
        headers: { range: `bytes=${range}` },
      });
      expect([range, read.status]).toEqual([range, 206]);
      expect(read.headers.get("content-range")).toBe(`bytes ${first}-${last}/2048`);
      expect(read.headers.get("content-length")).toBe(String(last - first + 1));
      expect(new Uint8Array(await read.arrayBuffer())).toEqual(bytes.slice(first, last + 1));
    }
    for (const range of ["500-0", "5000-10000"]) {
      const read = await repo.send("GET", `blobs/${digest}`, {
        headers: { range: `bytes=${range}` },
      });
      expect([range, read.headers.get("content-range")]).toEqual([range, "bytes */2048"]);
      await expectError(read, 416, "SIZE_INVALID");
    }
    await expectDeleted(repo, digest);
  });
});
