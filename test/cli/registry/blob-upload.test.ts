/** Uploads of blobs to a registry: in chunks, across breaks, and across the end of a process. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BlobUpload, bufferContent } from "../../../src/cli/registry/blob-upload.ts";
import { RegistryClient } from "../../../src/cli/registry/registry-client.ts";
import { Repository } from "../../../src/cli/registry/repository.ts";
import { Edge, type Fate } from "../support/edge.ts";
import { MemoryRegistry, sha256 } from "../support/memory-registry.ts";

const MIB = 1024 * 1024;
/** Headers for chunks of 1 MiB, with the margin that the registry adds. */
const ANNOUNCED = { "oci-chunk-max-length": String(MIB + 65_536) };

let registry: MemoryRegistry;
let edge: Edge;
let state: string;
beforeEach(async () => {
  registry = await MemoryRegistry.open();
  edge = await Edge.open(registry.url, 2 * MIB, ANNOUNCED);
  state = mkdtempSync(join(tmpdir(), "auspex-state-"));
});
afterEach(() => {
  edge.close();
  registry.close();
  rmSync(state, { recursive: true });
});

function repository(signal = new AbortController().signal) {
  const retried: unknown[] = [];
  const access = { url: edge.url, token: "aus_x" };
  const client = new RegistryClient({ access, signal, onRetry: (error) => retried.push(error) });
  return { client, retried, blobs: new Repository({ client, name: "ada/story", state }) };
}

async function push(bytes: Buffer, { blobs } = repository()): Promise<number> {
  let sent = 0;
  const count = (more: number) => {
    sent += more;
  };
  const events = { onSent: count, onArrived: count };
  await blobs.pushBlob(sha256(bytes), bufferContent(bytes), events);
  expect(registry.blobs.get(sha256(bytes))?.equals(bytes)).toBe(true);
  return sent;
}

/** Sets the fates of the first requests with a method; all others pass. */
function faults(method: string, ...fates: Fate[]): void {
  edge.fate = (one) => (one === method ? (fates.shift() ?? "pass") : "pass");
}

test("a blob is sent in chunks that the zone accepts, one after the other", async () => {
  const bytes = randomBytes(2 * MIB + 100);
  expect(await repository().blobs.hasBlob(sha256(bytes))).toBe(false);
  expect(await push(bytes)).toBe(bytes.length);
  const ranges = [`0-${MIB - 1}`, `${MIB}-${2 * MIB - 1}`, `${2 * MIB}-${bytes.length - 1}`];
  expect(registry.requests).toEqual([
    "HEAD",
    "POST",
    ...ranges.map((one) => `PATCH ${one}`),
    "PUT",
  ]);
  expect(edge.bytesOf("PATCH")).toEqual([MIB, MIB, 100]);
  expect(await repository().blobs.hasBlob(sha256(bytes))).toBe(true);
});

test("bytes that arrive in order are counted once, so the rate restarts only when bytes are sent again", async () => {
  const bytes = randomBytes(2 * MIB + 100);
  const counts: number[] = [];
  const onSent = (more: number) => counts.push(more);
  await repository().blobs.pushBlob(sha256(bytes), bufferContent(bytes), { onSent });
  expect(counts.reduce((sum, more) => sum + more, 0)).toBe(bytes.length);
  expect(counts.filter((more) => more < 0)).toEqual([]);
});

test.each([0, 1, MIB])("a blob of %i bytes is sent", async (size) => {
  expect(await push(randomBytes(size))).toBe(size);
});

test("a broken connection is resumed with the bytes that the registry lacks", async () => {
  const bytes = randomBytes(2 * MIB);
  faults("PATCH", { brokenAfter: 400_000 }, "pass", { brokenAfter: 200_000 });
  const one = repository();
  expect(await push(bytes, one)).toBe(bytes.length);
  expect(one.retried).toHaveLength(2);
  const first = registry.requests.filter((request) => request.startsWith("PATCH"))[1];
  const offset = Number(/PATCH (\d+)/.exec(first ?? "")?.[1]);
  expect(offset).toBeGreaterThan(0);
  expect(offset).toBeLessThanOrEqual(400_000);
});

test("a lost answer sends no byte twice, and a busy registry is asked again", async () => {
  const bytes = randomBytes(MIB + 1);
  faults("PATCH", "unanswered", { status: 503 });
  const one = repository();
  expect(await push(bytes, one)).toBe(bytes.length);
  expect(one.retried).toHaveLength(2);
  faults("PUT", "unanswered");
  await push(randomBytes(10));
});

test("a zone that accepts less than is announced gets smaller chunks", async () => {
  edge.close();
  edge = await Edge.open(registry.url, 1.5 * MIB, { "oci-chunk-max-length": String(4 * MIB) });
  await push(randomBytes(3 * MIB));
  expect(Math.max(...registry.requests.map(lengthOf))).toBeLessThanOrEqual(1.5 * MIB);
});

const lengthOf = (request: string): number => {
  const [, from, to] = /^PATCH (\d+)-(\d+)$/.exec(request) ?? [];
  return Number(to ?? -1) - Number(from ?? 0) + 1;
};

test("another process goes on with the bytes that an interrupted one has sent", async () => {
  const bytes = randomBytes(3 * MIB);
  const stop = new AbortController();
  edge.fate = (method) => {
    if (method === "PATCH" && edge.bytesOf("PATCH").length === 3) stop.abort(new Error("stopped"));
    return "pass";
  };
  await expect(push(bytes, repository(stop.signal))).rejects.toThrow("stopped");
  expect(readdirSync(join(state, "pushes"))).toHaveLength(1);
  edge.fate = () => "pass";
  edge.bodies.length = 0;
  expect(await push(bytes)).toBe(bytes.length);
  const again = edge.bytesOf("PATCH").reduce((sum, one) => sum + one, 0);
  expect(again).toBeLessThanOrEqual(MIB);
  expect(readdirSync(join(state, "pushes"))).toEqual([]);
});

test("an upload that the registry has forgotten, or that has other bytes, is started again", async () => {
  const bytes = randomBytes(MIB + 10);
  const breakOff = async () => {
    const stop = new AbortController();
    edge.fate = (method) => {
      if (method === "PUT") stop.abort(new Error("stopped"));
      return "pass";
    };
    await expect(push(bytes, repository(stop.signal))).rejects.toThrow("stopped");
    edge.fate = () => "pass";
  };
  await breakOff();
  registry.uploads.clear();
  expect(await push(bytes)).toBe(bytes.length);
  registry.blobs.clear();
  await breakOff();
  for (const id of registry.uploads.keys()) registry.uploads.set(id, randomBytes(MIB));
  expect(await push(bytes)).toBe(bytes.length);
});

test("a failure that no retry cures is reported at once, in the registry's words", async () => {
  faults("POST", { status: 401 });
  await expect(push(Buffer.from("x"))).rejects.toThrow("HTTP 401");
  const { client, retried } = repository();
  const url = client.urlOf("/v2/ada/story/blobs/uploads/");
  const upload = await BlobUpload.begin(client, url);
  await upload.append(bufferContent(Buffer.from("abc")));
  await expect(upload.finish(sha256("other"))).rejects.toThrow("no: DIGEST_INVALID");
  expect(retried).toEqual([]);
});

test("bytes of a stream that the registry has lost cannot be sent again", async () => {
  const { client } = repository();
  const upload = await BlobUpload.begin(client, client.urlOf("/v2/ada/story/blobs/uploads/"));
  await upload.append(bufferContent(Buffer.alloc(100)));
  for (const id of registry.uploads.keys()) registry.uploads.set(id, Buffer.alloc(50));
  await expect(upload.append(bufferContent(Buffer.alloc(10)))).rejects.toThrow("lost the upload");
});

test.each<[string, Fate[]]>([
  ["is refused for now", [{ status: 429 }]],
  ["loses its answer", ["unanswered"]],
])("the permission to push is known also where the clean-up %s", async (_, fates) => {
  faults("DELETE", ...fates);
  await repository().blobs.requirePush();
});
