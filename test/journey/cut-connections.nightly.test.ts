/**
 * Clients that disconnect in the middle of a request, over TCP: the isolate gets its memory and places back,
 * and no row stays.
 */
import { createHash, randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { z } from "zod";
import { Client } from "../../src/dev/client.ts";
import type { Deployment } from "../../src/dev/deployment.ts";
import { type Relay, startRelay } from "../../src/dev/relay.ts";
import type { Seed } from "../../src/dev/seed.ts";
import { PART_BYTES } from "../../src/domain/registry/chunk.ts";
import { upload } from "../../src/protocol/upload.ts";
import { sized } from "../support/sized.ts";
import { USERNAME } from "./support/access.ts";
import { startWorker } from "./support/deployment.ts";

vi.setConfig({ testTimeout: 300_000 });

const MIB = 1024 * 1024;
const TIMES = sized(20, 100);
const MAX_STREAMS = 4;
/** Open connections at the same time. */
const AT_ONCE = 20;
/** A hold that nobody gives back lapses after 15 s; one that is free within 10 s was given back. */
const SOON_MS = 10_000;

let folder: string;
let deployment: Deployment;
let user: Seed;
/**
 * The relay that `npm start` puts before workerd. workerd notices at once when a client of the relay
 * disconnects.
 */
let relay: Relay;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "auspex-cut-"));
  cpSync(inject("prepared").state, folder, { recursive: true });
  ({ user } = inject("prepared"));
  const variables = { MAX_STREAMS: String(MAX_STREAMS) };
  deployment = await startWorker({ stateFolder: folder, variables });
  relay = await startRelay(deployment.url, 0);
});

afterAll(async () => {
  relay?.close();
  await deployment?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Cut {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body: Uint8Array;
  /** Sends the body in chunks, without a length. */
  isChunked?: boolean;
}

/** For each stage of a cut: how many bytes of a body of this length are sent before the connection ends. */
const STAGES: ((length: number) => number)[] = [
  () => 0,
  () => 1,
  (length) => Math.floor(length / 2),
  (length) => length - 1,
  (length) => length,
];

/** Sends the first bytes of a body. @returns a function that ends the connection */
function begun({ method, path, headers, body, isChunked = false }: Cut, bytes: number) {
  const { hostname, port, host } = new URL(relay.url);
  const head = {
    host,
    authorization: `Bearer ${user.token}`,
    ...(isChunked
      ? { "transfer-encoding": "chunked" }
      : { "content-length": String(body.byteLength) }),
    ...headers,
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.on("data", () => {});
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  const sent = body.subarray(0, bytes);
  const isWhole = bytes === body.byteLength;
  const done = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
    if (!isChunked) return socket.write(sent, () => resolve());
    if (bytes > 0) socket.write(`${bytes.toString(16)}\r\n`);
    if (bytes > 0) socket.write(sent);
    socket.write(`${bytes > 0 ? "\r\n" : ""}${isWhole ? "0\r\n\r\n" : ""}`, () => resolve());
  });
  return { done, end: () => socket.destroy() };
}

/** Cuts `times` of these requests at each stage: half of them while they are read, half of them at once. */
async function cutAll(times: number, make: (n: number) => Cut | Promise<Cut>): Promise<void> {
  for (const stage of STAGES)
    for (let n = 0; n < times; n += AT_ONCE) {
      const cuts = await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, times - n) }, (_, i) => make(n + i)),
      );
      const open = cuts.map((cut) => begun(cut, stage(cut.body.byteLength)));
      for (const { end } of open.filter((_, i) => i % 2 === 0)) end();
      await Promise.all(open.map(({ done }) => done));
      // The Worker has read the bytes that came before this request once it answers it.
      await call("GET", "/v2/");
      for (const { end } of open) end();
    }
}

const call = (method: string, path: string, init: RequestInit = {}) =>
  fetch(new URL(path, deployment.url), {
    ...init,
    method,
    headers: {
      authorization: `Bearer ${user.token}`,
      ...Object.fromEntries(new Headers(init.headers)),
    },
  });

const UPLOADS = `/v2/${USERNAME}/cut/blobs/uploads/`;

async function begin(): Promise<string> {
  const { status, headers } = await call("POST", UPLOADS);
  expect(status).toBe(202);
  return headers.get("location") ?? "";
}

const cancel = async (locations: string[]) => {
  for (const location of locations) expect((await call("DELETE", location)).status).toBe(204);
};

const digestOf = (bytes: Uint8Array) =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

const count = z.array(z.object({ n: z.number() }));

async function noRows(sweep = async () => {}): Promise<void> {
  const database = await deployment.database();
  const counting = database.prepare("SELECT count(*) AS n FROM registry_uploads");
  await vi.waitFor(async () => {
    await sweep();
    expect(count.parse((await counting.all()).results)).toEqual([{ n: 0 }]);
  }, SOON_MS);
}

/** PATCHes an upload without a length. @returns the status */
function patchChunked(location: string, bytes: Uint8Array): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sending = request(new URL(location, deployment.url), {
      method: "PATCH",
      headers: { authorization: `Bearer ${user.token}`, "transfer-encoding": "chunked" },
    });
    sending.on("error", reject);
    sending.on("response", (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sending.end(bytes);
  });
}

async function soon<T>(act: () => Promise<T>): Promise<T> {
  const from = performance.now();
  const result = await act();
  expect(performance.now() - from).toBeLessThan(SOON_MS);
  return result;
}

test("uploads without a length that are cut free their memory for others", async () => {
  const locations = await Promise.all(Array.from({ length: 5 }, begin));
  await cutAll(TIMES, (n) => ({
    method: "PATCH",
    path: locations[n % 5] ?? "",
    body: randomBytes(MIB),
    isChunked: true,
  }));
  const [one = "", two = "", three = ""] = await Promise.all([begin(), begin(), begin()]);
  const bytes = randomBytes(PART_BYTES - 1);
  const statuses = await soon(() =>
    Promise.all([one, two, three].map((location) => patchChunked(location, bytes))),
  );
  expect(statuses).toEqual([202, 202, 202]);
  await cancel([...locations, one, two, three]);
  await noRows();
});

test("uploads that are cut as a whole leave no rows", async () => {
  const bytes = randomBytes(100_000);
  await cutAll(TIMES, () => ({
    method: "POST",
    path: `${UPLOADS}?digest=${digestOf(randomBytes(1))}`,
    body: bytes,
  }));
  const location = await begin();
  await cutAll(TIMES, () => ({
    method: "PUT",
    path: `${location}?digest=${digestOf(randomBytes(1))}`,
    body: bytes,
  }));
  await call("DELETE", location);
  await noRows();
});

test("an upload whose beginning was cut counts for 10 minutes at most", async () => {
  const beginning = { method: "POST", path: UPLOADS, body: new Uint8Array() };
  for (const { done, end } of Array.from({ length: TIMES }, () => begun(beginning, 0))) {
    await done;
    end();
  }
  await noRows(() => deployment.scheduled(new Date(Date.now() + 11 * 60_000)));
});

test("JSON bodies and forms that are cut free their memory for others", async () => {
  const json = Buffer.from(JSON.stringify({ input: { text: "x".repeat(500_000) } }));
  const boundary = "boundary-of-the-form";
  const form = Buffer.concat([
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n`,
    ),
    randomBytes(6 * MIB),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const type = { "content-type": "application/json" };
  await cutAll(TIMES, () => ({
    method: "POST",
    path: "/v1/models",
    headers: type,
    body: json,
    isChunked: true,
  }));
  const path = "/v1/vendora/images/edits";
  const formType = { "content-type": `multipart/form-data; boundary=${boundary}` };
  await cutAll(4, () => ({ method: "POST", path, headers: formType, body: form }));
  const large = JSON.stringify({ input: { text: "x".repeat(9.9 * MIB) } });
  const answers = await soon(() =>
    Promise.all(
      [1, 2]
        .map(() => call("POST", "/v1/models", { headers: type, body: large }))
        .concat([1, 2].map(() => call("POST", path, { headers: formType, body: form }))),
    ),
  );
  for (const { status } of answers) expect(status).toBeOneOf([400, 404, 422]);
});

const operations = z.object({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ requestBody: z.unknown().optional() })),
  ),
});

test("every route that reads a body may be cut at every stage", async () => {
  const { paths } = operations.parse(await (await call("GET", "/v1/openapi.json")).json());
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) =>
      requestBody === undefined ? [] : [{ method: method.toUpperCase(), path }],
    ),
  );
  expect(routes.length).toBeGreaterThan(30);
  const headers = { "content-type": "application/json" };
  const body = Buffer.from(JSON.stringify({ input: { text: "x".repeat(100_000) } }));
  const ofModel = { model_owner: USERNAME, model_name: "hello", username: USERNAME };
  const names: Record<string, string> = { ...ofModel, version_number: "1", part_number: "1" };
  for (const { method, path } of routes) {
    const filled = path.replace(/\{(\w+)\}/g, (_, name) => names[name] ?? crypto.randomUUID());
    await cutAll(2, () => ({ method, path: filled, headers, body, isChunked: true }));
  }
  const large = JSON.stringify({ input: { text: "x".repeat(9.9 * MIB) } });
  const answers = await soon(() =>
    Promise.all([1, 2].map(() => call("POST", "/v1/models", { headers, body: large }))),
  );
  for (const { status } of answers) expect(status).toBe(422);
});

test("waiting requests whose clients leave do not count any more", async () => {
  const body = Buffer.from(JSON.stringify({ model: `${USERNAME}/hello`, input: {} }));
  const headers = { "content-type": "application/json", prefer: "wait=60" };
  const waiting = { method: "POST", path: "/v1/predictions", headers, body };
  // A request that gets a place waits for its prediction, and its timeout frees the place again.
  const another = () =>
    call("POST", "/v1/predictions", { headers, body, signal: AbortSignal.timeout(1_000) });
  for (let round = 0; round < TIMES / MAX_STREAMS; round++) {
    const open = Array.from({ length: MAX_STREAMS }, () => begun(waiting, body.byteLength));
    await vi.waitFor(async () => expect((await another()).status).toBe(429), SOON_MS);
    for (const { end } of open) end();
  }
});

test("parts of files that are cut can be sent again", async () => {
  const client = new Client(deployment.url, user.token);
  const body = { size: 300_000, mime_type: "image/png" };
  const { urls } = await client.call(upload, "POST", "/uploads", { body });
  const { pathname, search } = new URL(urls[0] ?? "");
  const bytes = randomBytes(300_000);
  await cutAll(TIMES, () => ({ method: "PUT", path: pathname + search, body: bytes }));
  expect((await call("PUT", pathname + search, { body: bytes })).status).toBe(200);
});
