/**
 * Uploads whose connection breaks, over TCP: whole parts that have arrived are kept, and a broken body is
 * never taken for a whole one.
 */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type ClientRequest, request } from "node:http";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { PART_BYTES } from "../../src/domain/registry/chunk.ts";
import type { Cable } from "../processes/cable.ts";
import { USERNAME } from "./support/access.ts";
import { World } from "./support/world.ts";

let world: World;
let cable: Cable;

beforeAll(async () => {
  world = await World.open({ publish: async () => {} });
  cable = await world.cable();
});

afterAll(() => world?.close());

const UPLOADS = `/v2/${USERNAME}/broken/blobs/uploads/`;

const digestOf = (bytes: Uint8Array) =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

const authorization = () => `Bearer ${world.access.token}`;

const call = (method: string, path: string, init: RequestInit = {}, url = world.access.url) =>
  fetch(new URL(path, url), {
    ...init,
    method,
    headers: { authorization: authorization(), ...Object.fromEntries(new Headers(init.headers)) },
  });

async function begun(): Promise<string> {
  const { status, headers } = await call("POST", UPLOADS);
  expect(status).toBe(202);
  return headers.get("location") ?? "";
}

const standsAt = async (location: string) => (await call("GET", location)).headers.get("range");

/** Waits until the Worker has recorded this range of an upload. */
const untilStanding = (location: string, range: string) =>
  vi.waitFor(async () => expect(await standsAt(location)).toBe(range), 10_000);

const isThere = async (digest: string) =>
  (await call("HEAD", `/v2/${USERNAME}/broken/blobs/${digest}`)).status === 200;

/** Sends the beginning of a body, whose connection can then be broken off. */
async function sendingOf(
  location: string,
  headers: Record<string, string>,
  bytes: Uint8Array,
): Promise<ClientRequest> {
  const sending = request(new URL(location, world.access.url), {
    method: "PATCH",
    headers: { authorization: authorization(), ...headers },
  });
  sending.on("error", () => {});
  for (let at = 0; at < bytes.byteLength; at += 65_536)
    if (!sending.write(bytes.subarray(at, at + 65_536))) await once(sending, "drain");
  return sending;
}

test("an upload whose chunk is cut goes on from the last whole part", async () => {
  const bytes = randomBytes(PART_BYTES + 3_000_000);
  const location = await begun();
  const last = bytes.byteLength - 1;
  const chunk = { "content-range": `0-${last}`, "content-length": String(bytes.byteLength) };
  const sending = await sendingOf(location, chunk, bytes.subarray(0, PART_BYTES + 1_500_000));
  await untilStanding(location, `0-${PART_BYTES - 1}`);
  sending.destroy();
  const rest = {
    body: bytes.subarray(PART_BYTES),
    headers: { "content-range": `${PART_BYTES}-${last}` },
  };
  expect((await call("PATCH", location, rest)).status).toBe(202);
  const digest = digestOf(bytes);
  expect((await call("PUT", `${location}?digest=${digest}`)).status).toBe(201);
  const read = await call("GET", `/v2/${USERNAME}/broken/blobs/${digest}`);
  expect(digestOf(new Uint8Array(await read.arrayBuffer()))).toBe(digest);
});

test("a PUT that is cut stores nothing, and the next one does", async () => {
  const bytes = randomBytes(2_000_000);
  const [location, digest] = [await begun(), digestOf(bytes)];
  const path = `${location}?digest=${digest}`;
  cable.cutAfter(1_000_000);
  await expect(call("PUT", path, { body: bytes }, cable.url)).rejects.toThrow();
  expect(await isThere(digest)).toBe(false);
  expect((await call("PUT", path, { body: bytes })).status).toBe(201);
  expect(await isThere(digest)).toBe(true);
});

test.each([
  ["a few bytes", 100_000, "0--1"],
  ["more than a part", PART_BYTES + 1_000_000, `0-${PART_BYTES - 1}`],
])(
  "a body without a length that breaks off is not taken for a whole: %s",
  async (_, length, range) => {
    const bytes = randomBytes(length);
    const location = await begun();
    const sending = await sendingOf(location, { "transfer-encoding": "chunked" }, bytes);
    // `write` calls back once the whole body has been sent.
    await new Promise<void>((resolve) => sending.write("x", () => resolve()));
    await untilStanding(location, range);
    sending.destroy();
    // The range stays the same while the Worker notices the end of the connection.
    for (let times = 0; times < 50; times++) expect(await standsAt(location)).toBe(range);
    const digest = digestOf(bytes);
    const put = await call("PUT", `${location}?digest=${digest}`);
    expect([put.status, await put.text()]).toEqual([
      400,
      expect.stringContaining("DIGEST_INVALID"),
    ]);
    expect(await isThere(digest)).toBe(false);
  },
);
