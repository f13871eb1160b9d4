/** The relay: requests of any client's kind become chunks, and answers come back as they are. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { request as requestTo } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RegistryClient } from "../../../src/cli/registry/registry-client.ts";
import { type Relay, startRelay } from "../../../src/cli/relay/relay.ts";
import { Edge } from "../support/edge.ts";
import { MemoryRegistry, sha256 } from "../support/memory-registry.ts";

const MIB = 1024 * 1024;
const UPLOADS = "/v2/ada/story/blobs/uploads/";

let registry: MemoryRegistry;
let edge: Edge;
let relay: Relay;
let scratch: string;
beforeEach(async () => {
  registry = await MemoryRegistry.open({ "oci-chunk-max-length": String(MIB + 65_536) });
  edge = await Edge.open(registry.url, 1.5 * MIB);
  scratch = mkdtempSync(join(tmpdir(), "auspex-scratch-"));
  const signal = new AbortController().signal;
  const access = { url: edge.url, token: "aus_x" };
  const client = new RegistryClient({ access, signal, onRetry: () => {} });
  relay = await startRelay({ client, port: 0, scratch });
});
afterEach(() => {
  relay.close();
  edge.close();
  registry.close();
  expect(readdirSync(scratch)).toEqual([]);
  rmSync(scratch, { recursive: true });
});

const call = (method: string, path: string, init: RequestInit = {}) =>
  fetch(new URL(path, `http://${relay.host}`), { method, redirect: "manual", ...init });

/** Without Content-Length, as docker sends a layer. */
const stream = (bytes: Buffer) => ({ body: new Blob([bytes]).stream(), duplex: "half" }) as const;

const locationOf = (response: Response) => response.headers.get("location") ?? "";

test("docker's layer: one PATCH without a length, and an empty PUT", async () => {
  const bytes = randomBytes(2.5 * MIB);
  const begun = await call("POST", UPLOADS);
  expect([begun.status, begun.headers.get("range")]).toEqual([202, "0-0"]);
  const patched = await call("PATCH", locationOf(begun), stream(bytes));
  expect([patched.status, patched.headers.get("range")]).toEqual([202, `0-${bytes.length - 1}`]);
  const put = await call("PUT", `${locationOf(patched)}?digest=${sha256(bytes)}`);
  expect([put.status, put.headers.get("docker-content-digest")]).toEqual([201, sha256(bytes)]);
  expect(registry.blobs.get(sha256(bytes))?.equals(bytes)).toBe(true);
  expect(edge.bytesOf("PATCH")).toEqual([MIB, MIB, MIB / 2]);
});

test("containerd's: one PUT with a length; oras' and others': one POST with the digest", async () => {
  const bytes = randomBytes(2 * MIB);
  const begun = await call("POST", UPLOADS);
  const put = await call("PUT", `${locationOf(begun)}?digest=${sha256(bytes)}`, { body: bytes });
  expect(put.status).toBe(201);
  expect(registry.blobs.get(sha256(bytes))?.equals(bytes)).toBe(true);
  const whole = randomBytes(1.2 * MIB);
  const posted = await call("POST", `${UPLOADS}?digest=${sha256(whole)}`, { body: whole });
  expect([posted.status, locationOf(posted)]).toEqual([
    201,
    `/v2/ada/story/blobs/${sha256(whole)}`,
  ]);
  expect(registry.blobs.get(sha256(whole))?.equals(whole)).toBe(true);
});

test("chunks of a client's own: in order, asked for, out of order, and given up", async () => {
  const begun = await call("POST", UPLOADS);
  const at = locationOf(begun);
  const chunk = (range: string, body: Buffer) =>
    call("PATCH", at, { body, headers: { "content-range": range } });
  expect((await chunk("0-99", Buffer.alloc(100))).status).toBe(202);
  expect((await chunk("50-149", Buffer.alloc(100))).status).toBe(416);
  const asked = await call("GET", at);
  expect([asked.status, asked.headers.get("range")]).toEqual([204, "0-99"]);
  expect((await chunk("100-199", Buffer.alloc(100))).status).toBe(202);
  const wrong = await call("PUT", `${at}?digest=${sha256("other")}`);
  expect([wrong.status, await wrong.json()]).toEqual([
    400,
    { errors: [{ code: "DIGEST_INVALID", message: "no: DIGEST_INVALID" }] },
  ]);
  const other = locationOf(await call("POST", UPLOADS));
  expect((await call("DELETE", other)).status).toBe(204);
  expect((await call("GET", other)).status).toBe(404);
});

test("a chunk that breaks on its way is sent again, though the client cannot", async () => {
  const bytes = randomBytes(1.5 * MIB);
  const broken = [{ brokenAfter: 300_000 }, "unanswered"] as const;
  const fates = [...broken];
  edge.fate = (method) => (method === "PATCH" ? (fates.shift() ?? "pass") : "pass");
  const begun = await call("POST", UPLOADS);
  const patched = await call("PATCH", locationOf(begun), stream(bytes));
  expect(patched.status, await patched.text()).toBe(202);
  const put = await call("PUT", `${locationOf(patched)}?digest=${sha256(bytes)}`);
  expect(put.status).toBe(201);
});

test("a client that breaks off leaves no file behind, and its upload as it is", async () => {
  const begun = await call("POST", UPLOADS);
  const outgoing = requestTo(new URL(locationOf(begun), `http://${relay.host}`), {
    method: "PATCH",
  });
  outgoing.on("error", () => {});
  outgoing.write(randomBytes(100));
  await expect.poll(() => readdirSync(scratch)).toHaveLength(1);
  outgoing.destroy();
  await expect.poll(() => readdirSync(scratch)).toEqual([]);
  expect((await call("GET", locationOf(begun))).headers.get("range")).toBe("0-0");
});

test("manifests, blobs and what is not there come as they are", async () => {
  const body = Buffer.from('{"schemaVersion": 2}');
  const type = "application/vnd.oci.image.manifest.v1+json";
  const path = "/v2/ada/story/manifests/latest";
  const put = await call("PUT", path, { body, headers: { "content-type": type } });
  expect(put.headers.get("docker-content-digest")).toBe(sha256(body));
  const got = await call("GET", path);
  expect([got.headers.get("content-type"), await got.text()]).toEqual([type, body.toString()]);
  const head = await call("HEAD", path);
  expect(head.headers.get("content-length")).toBe(String(body.length));
  registry.blobs.set(sha256("layer"), Buffer.from("layer"));
  expect(await (await call("GET", `/v2/ada/story/blobs/${sha256("layer")}`)).text()).toBe("layer");
  expect((await call("HEAD", `/v2/ada/story/blobs/${sha256("no")}`)).status).toBe(404);
});

test("no login is asked for; a token that is refused is told in words that clients show", async () => {
  expect((await call("GET", "/v2/")).status).toBe(200);
  edge.fate = () => ({ status: 401 });
  for (const [method, path] of [
    ["POST", UPLOADS],
    ["HEAD", "/v2/ada/story/manifests/latest"],
  ] as const)
    expect((await call(method, path)).status).toBe(403);
  const refused = await call("GET", "/v2/ada/story/tags/list");
  expect(await refused.json()).toMatchObject({
    errors: [{ code: "DENIED", message: expect.stringContaining("auspex login") }],
  });
});

test("pages in a browser, and other names for this machine, are refused", async () => {
  const statusOf = async (headers: Record<string, string>) => {
    const outgoing = requestTo(new URL("/v2/", `http://${relay.host}`), { headers }).end();
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    outgoing.on("response", (answer) => {
      void text(answer);
      resolve(answer.statusCode);
    });
    return promise;
  };
  expect(await statusOf({})).toBe(200);
  expect(await statusOf({ host: "rebound.example.com" })).toBe(403);
  expect(await statusOf({ origin: "https://example.com" })).toBe(403);
  expect((await call("GET", "/v1/user")).status).toBe(405);
});

test("nobody gets the token itself: what is no repository is not passed on", async () => {
  const before = registry.requests.length;
  for (const path of [
    "/v2/token",
    "/v2/%74oken",
    "/v2/ada/../token",
    "/v2/_catalog",
    "/v2/ada/story",
  ])
    expect((await call("GET", `${path}?service=x`)).status, path).toBe(405);
  expect(registry.requests.length).toBe(before);
});

/** Only root can act as somebody else. */
test.runIf(process.getuid?.() === 0)("other users of the machine are refused", async () => {
  const before = registry.requests.length;
  const path = `http://${relay.host.replace("localhost", "127.0.0.1")}/v2/ada/story/tags/list`;
  const script = `const r = await fetch("${path}"); console.log(r.status, await r.text())`;
  const asked = (options: object) =>
    promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], options);
  const refused = await asked({ uid: 65_534, gid: 65_534, cwd: "/" });
  expect(refused.stdout).toMatch(/^403 .*programs of the user who has started it/);
  expect(registry.requests.length).toBe(before);
  expect((await asked({})).stdout).not.toMatch(/^403/);
  expect(registry.requests.length).toBeGreaterThan(before);
});
