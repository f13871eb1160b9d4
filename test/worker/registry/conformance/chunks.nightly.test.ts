/** A blob in chunks of the smallest length that the registry announces, as OCI's conformance suite sends them. */
import { expect, test } from "vitest";
import { MIN_CHUNK_BYTES } from "../../../../src/domain/registry/chunk.ts";
import { chunked } from "../../support/chunked.ts";
import { digestIn } from "../../support/conformance.ts";
import { newRepository, randomBytes } from "../../support/registry.ts";

test("chunked out-of-order and put chunk, of the announced length", async () => {
  const repo = await newRepository();
  const bytes = randomBytes(MIN_CHUNK_BYTES * 3 - 5);
  const digest = await digestIn("sha512", bytes);
  const ways = { length: MIN_CHUNK_BYTES, outOfOrder: true, putsLast: true };
  const put = await chunked(repo, digest, bytes, ways);
  expect(put.status, await put.text()).toBe(201);
  const read = await repo.send("GET", `blobs/${digest}`);
  expect(await digestIn("sha512", new Uint8Array(await read.arrayBuffer()))).toBe(digest);
});
