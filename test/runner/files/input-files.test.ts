import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import { type FileOptions, InputFiles } from "../../../runner/src/files/input-files.ts";
import { CallbackServer } from "../../../runner/src/lib/callback-server.ts";
import { exactText, parseExact } from "../../../src/lib/exact-json.ts";
import { type Json, jsonObject } from "../../../src/protocol/common.ts";
import { type InputFile, LEASE_HEADER } from "../../../src/protocol/runner.ts";
import { FakeControlPlane } from "../support/fake-control-plane.ts";
import { ALLOWED, errorOf, serve } from "../support/public-fetch-server.ts";
import { jobOrder } from "../support/samples.ts";

const never = new AbortController().signal;
const PHOTO = Buffer.from("0123456789");

let folder: string;
let callbackServer: CallbackServer;
let plane: FakeControlPlane;
let files: InputFiles;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "auspex-inputs-"));
  callbackServer = new CallbackServer();
  const port = await callbackServer.listen("127.0.0.1");
  callbackServer.setBaseUrl(new URL(`http://127.0.0.1:${port}`));
  plane = await FakeControlPlane.start();
  files = await startFiles();
});
afterEach(async () => {
  await callbackServer.close();
  await plane.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function startFiles(more: Partial<FileOptions> = {}): Promise<InputFiles> {
  const started = new InputFiles(
    callbackServer,
    new ControlPlane({ url: plane.url, token: "ausr_x" }),
    {
      cache: join(folder, "cache"),
      cache_bytes: 100_000,
      cache_ms: 3_600_000,
      max_file_bytes: 50_000,
      fetch_allow: ALLOWED,
      ...more,
    },
  );
  await started.start();
  return started;
}

/** Returns a file of the service, at `image` in the input unless given otherwise. */
function stored(key: string, bytes = PHOTO, at: InputFile["at"] = ["image"]): InputFile {
  const mime_type = "image/png";
  plane.files.inputs.set(key, { mime_type, bytes });
  return { at, stored: { key, name: "photo.png", mime_type, size: bytes.length } };
}

const jobWith = (input: Record<string, Json>, ...of: InputFile[]) => ({
  ...jobOrder(),
  input,
  files: of,
});

async function openStored(key = "a", bytes = PHOTO, from = files): Promise<[string, () => void]> {
  const job = jobWith({ image: "https://auspex.test/v1/uploads/1" }, stored(key, bytes));
  const { input, close } = await from.open(job, never);
  return [String(input.image), close];
}

const downloads = () => plane.files.requests.length;

test("a file that was sent as a data URI becomes one again, byte for byte", async () => {
  const { at, stored: file } = stored("a", PHOTO, ["messages", 0, "url"]);
  if (!file) return expect.fail();
  const address = "https://auspex.test/v1/files/1/data-1.png?expires=1&signature=x";
  const input = { messages: [{ url: address }], image: address };
  const job = jobWith(input, { at, stored: { ...file, data_uri: true } }, stored("b"));
  const opened = await files.open(job, never);
  const uri = `data:image/png;base64,${PHOTO.toString("base64")}`;
  expect(opened.input.messages).toEqual([{ url: uri }]);
  expect(String(opened.input.image)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/.*\/photo\.png$/);
  opened.close();
});

test("a job without files has its input unchanged, and fetches nothing", async () => {
  const idle = new InputFiles(
    callbackServer,
    new ControlPlane({ url: plane.url, token: "ausr_x" }),
    {
      cache: join(folder, "never"),
      cache_bytes: 1,
      cache_ms: 1,
      max_file_bytes: 1,
      fetch_allow: [],
    },
  );
  const job = jobWith({ text: "hi", image: "data:image/png;base64,AAAA" });
  expect((await idle.open(job, never)).input).toBe(job.input);
  expect(existsSync(join(folder, "never"))).toBe(false);
});

test("a stored file has an address on the callbackServer until the run is over", async () => {
  const [url, close] = await openStored();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{36}\/0\/photo\.png$/);
  for (let time = 0; time < 2; time++) {
    const response = await fetch(url);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/png",
      "content-length": "10",
      "accept-ranges": "bytes",
    });
    expect(await response.text()).toBe("0123456789");
  }
  close();
  expect((await fetch(url)).status).toBe(404);
});

test.each([
  ["bytes=2-4", 206, "234", "bytes 2-4/10"],
  ["bytes=7-", 206, "789", "bytes 7-9/10"],
  ["bytes=-3", 206, "789", "bytes 7-9/10"],
  ["bytes=8-100", 206, "89", "bytes 8-9/10"],
  ["bytes=10-", 416, "", "bytes */10"],
  ["bytes=0-1,4-5", 200, "0123456789", null],
  ["pages=1", 200, "0123456789", null],
])("a request with Range: %s is answered", async (range, status, body, contentRange) => {
  const [url] = await openStored();
  const response = await fetch(url, { headers: { range } });
  expect(response.status).toBe(status);
  expect(response.headers.get("content-range")).toBe(contentRange);
  expect(await response.text()).toBe(body);
});

test("HEAD matches GET, If-Range sends all, and no other paths exist", async () => {
  const [url] = await openStored();
  const head = await fetch(url, { method: "HEAD", headers: { range: "bytes=0-1" } });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, "10"]);
  const conditional = await fetch(url, { headers: { range: "bytes=0-1", "if-range": '"1"' } });
  expect(await conditional.text()).toBe("0123456789");
  expect((await fetch(url, { method: "POST", body: "x" })).status).toBe(405);
  expect((await fetch(`${url}?download=1`)).status).toBe(200);
  const root = url.slice(0, -"/0/photo.png".length);
  for (const path of ["", "/", "/0", "/0/", "/1/photo.png", "/0/other.png", "/0/photo.png/x"]) {
    expect((await fetch(root + path)).status).toBe(404);
  }
});

test("a file that another account has read is read again, so that no account can tell", async () => {
  const file = stored("a");
  for (const [account, expected] of [
    ["ada", 1],
    ["eve", 2],
    ["ada", 2],
  ] as const) {
    const keys = { container: "c", files: account };
    const job = { ...jobWith({ image: "https://auspex.test/v1/uploads/1" }, file), keys };
    (await files.open(job, never)).close();
    expect([account, downloads()]).toEqual([account, expected]);
  }
});

test("an empty file can be read", async () => {
  const [url] = await openStored("empty", Buffer.alloc(0));
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([200, ""]);
  expect((await fetch(url, { headers: { range: "bytes=0-" } })).status).toBe(416);
});

test("files anywhere in an input become addresses, and the job's own value stays unchanged", async () => {
  const web = await serve((_request, response) => {
    response.setHeader("content-type", "text/csv").end("a,b");
  });
  const input = jsonObject.parse(
    parseExact(
      `{"images": ["x", {"deep": "y"}], "__proto__": "z", "table": "${web.url}/rows?sign=1", "n": 1.0}`,
    ),
  );
  const before = structuredClone(input);
  const job = jobWith(
    input,
    stored("a", Buffer.from("A"), ["images", 0]),
    stored("b", Buffer.from("B"), ["images", 1, "deep"]),
    stored("c", Buffer.from("C"), ["__proto__"]),
    { at: ["table"] },
  );
  const opened = await files.open(job, never);
  expect(input).toEqual(before);
  const text = exactText(opened.input);
  const urls = text.match(/http:[^"]+/g) ?? [];
  expect(text.replace(/http:[^"]+/g, "*")).toBe(
    '{"images":["*",{"deep":"*"}],"__proto__":"*","table":"*","n":1.0}',
  );
  // The container sees neither the service nor the address in the web.
  expect(urls.map((url) => new URL(url).pathname.slice(37))).toEqual([
    "/0/photo.png",
    "/1/photo.png",
    "/2/photo.png",
    "/3/rows.csv",
  ]);
  const bodies = await Promise.all(urls.map(async (url) => (await fetch(url)).text()));
  expect(bodies).toEqual(["A", "B", "C", "a,b"]);
  opened.close();
});

test("a file at a place that the input does not have is an internal failure", async () => {
  for (const at of [["missing"], ["text", "length"], ["toString"], ["list", 3]]) {
    const job = jobWith({ text: "x", list: [1] }, stored("a", PHOTO, at));
    expect(await errorOf(files.open(job, never))).toMatchObject({ source: "internal" });
  }
});

test("a file is fetched once per box, also by the next process of the runner", async () => {
  const both = await Promise.all([openStored(), openStored()]);
  await openStored();
  expect(both[0][0]).not.toBe(both[1][0]);
  const [url] = await openStored("a", PHOTO, await startFiles());
  expect(await (await fetch(url)).text()).toBe("0123456789");
  expect(downloads()).toBe(1);
});

test("the files of an open run stay, however many others come", async () => {
  const [url, close] = await openStored("kept", Buffer.alloc(40_000, "k"));
  for (let n = 0; n < 5; n++) (await openStored(`other ${n}`, Buffer.alloc(40_000, `${n}`)))[1]();
  expect(await (await fetch(url)).text()).toBe("k".repeat(40_000));
  close();
  for (let n = 0; n < 2; n++) (await openStored(`more ${n}`, Buffer.alloc(40_000, `m${n}`)))[1]();
  const before = downloads();
  await openStored("kept", Buffer.alloc(40_000, "k"));
  expect(downloads()).toBe(before + 1);
});

test("a failure of the service is retried, and a cut body is not kept", async () => {
  const troubles = [503, "cut", undefined] as const;
  let call = 0;
  plane.files.trouble = () => troubles[call++];
  const [url] = await openStored();
  expect(await (await fetch(url)).text()).toBe("0123456789");
  expect(call).toBe(3);
});

test.each([
  ["refused", 404],
  ["down for long", 503],
])("a failure of the service is internal and has its place: %s", async (_name, status) => {
  plane.files.trouble = () => status;
  const job = jobWith({ list: [{ image: "x" }] }, stored("a", PHOTO, ["list", 0, "image"]));
  expect(await errorOf(files.open(job, never))).toMatchObject({
    source: "internal",
    message: expect.stringMatching(
      /^input\.list\[0\]\.image: the file [\w.]+ could not be fetched from the service: /,
    ),
  });
});

test("a file with fewer bytes than the job says is refused", async () => {
  const file = stored("a");
  plane.files.inputs.set("a", { mime_type: "image/png", bytes: Buffer.from("012") });
  expect(await errorOf(files.open(jobWith({ image: "x" }, file), never))).toMatchObject({
    source: "internal",
    message: expect.stringContaining("received 3 of 10 bytes"),
  });
});

test("a lost lease of one run does not end the download while another run waits", async () => {
  const [lost, good] = [stored("a"), stored("a")].map((file) => jobWith({ image: "x" }, file));
  plane.files.trouble = ({ headers }) => (headers[LEASE_HEADER] === lost?.lease ? 403 : undefined);
  const opened = [lost, good].map((job) => job && files.open(job, never));
  for (const one of await Promise.all(opened)) {
    expect((await fetch(String(one?.input.image))).status).toBe(200);
  }
});

test("a file over the limit is refused before it is fetched", async () => {
  const job = jobWith({ image: "x" }, stored("large", Buffer.alloc(50_001)));
  expect(await errorOf(files.open(job, never))).toMatchObject({
    source: "external",
    message: expect.stringMatching(/^input\.image: the file exceeds this runner's limit of .* GB$/),
  });
  expect(downloads()).toBe(0);
});

test("an address in the web that cannot be fetched is reported with its place and host only", async () => {
  const web = await serve((_request, response) => response.writeHead(404).end());
  for (const [url, host] of [
    [`${web.url}/a/b.png?signature=secret`, web.host],
    ["https://169.254.169.254/latest?signature=secret", "169.254.169.254"],
  ]) {
    const error = await errorOf(
      files.open(jobWith({ image: url ?? "" }, { at: ["image"] }), never),
    );
    expect(error).toMatchObject({
      source: "external",
      message: expect.stringMatching(new RegExp(`^input\\.image: ${host} `)),
    });
    expect(String(error)).not.toMatch(/secret|b\.png|latest/);
  }
});

test("a file of a run that cannot be fetched releases the run's other files", async () => {
  const web = await serve((_request, response) => response.writeHead(404).end());
  const size = 40_000;
  // File `a` is there before the answer of the other one is.
  (await openStored("a", Buffer.alloc(size)))[1]();
  const job = jobWith({ image: "x", bad: web.url }, stored("a", Buffer.alloc(size)), {
    at: ["bad"],
  });
  expect(await errorOf(files.open(job, never))).toMatchObject({ source: "external" });
  // The cache has room for two such files, so neither is in use.
  const opened = [];
  for (const name of ["b", "c"]) opened.push(await openStored(name, Buffer.alloc(size, name)));
  for (const [, close] of opened) close();
});

test("the files of one run take at most half of the cache", async () => {
  const web = await serve((request, response) => response.end(request.url?.padEnd(20_000)));
  const three = { a: `${web.url}/a`, b: `${web.url}/b`, c: `${web.url}/c` };
  const places = Object.keys(three).map((name) => ({ at: [name] }));
  expect(await errorOf(files.open(jobWith(three, ...places), never))).toMatchObject({
    source: "external",
    message: expect.stringMatching(
      /^the files of the input exceed this runner's limit of .* GB in total$/,
    ),
  });
  // A file that is there twice counts once, and the refused files are no longer held.
  const twice = { ...three, b: three.a, c: three.a };
  for (let time = 0; time < 4; time++) await files.open(jobWith(twice, ...places), never);
});

test.each([
  ["whose size is known", { "content-length": "40000" }],
  ["of which nobody knows how large it is", {}],
])("a run without room waits for that of another run, with a file %s", async (_name, headers) => {
  const refused = Promise.withResolvers<void>();
  const web = await serve((_request, response) => {
    response.on("close", () => refused.resolve());
    response.writeHead(200, headers).write(Buffer.alloc(20_000));
    if (web.requests.length > 1) response.end(Buffer.alloc(20_000));
  });
  const [, closeFirst] = await openStored("a", Buffer.alloc(40_000, "a"));
  const [, closeSecond] = await openStored("b", Buffer.alloc(40_000, "b"));
  const waits = files.open(jobWith({ image: web.url }, { at: ["image"] }), never);
  await refused.promise;
  const stop = new AbortController();
  const cancelled = jobWith({ image: "x" }, stored("d", Buffer.alloc(40_000, "d")));
  const gives = errorOf(files.open(cancelled, stop.signal));
  // A file that is present needs no new room.
  (await openStored("a", Buffer.alloc(40_000, "a")))[1]();
  stop.abort(new Error("cancelled"));
  expect(await gives).toMatchObject({ message: "cancelled" });
  closeFirst();
  const { input, close } = await waits;
  expect((await (await fetch(String(input.image))).arrayBuffer()).byteLength).toBe(40_000);
  expect(web.requests).toHaveLength(2);
  closeSecond();
  close();
});

test("runs that each have a part of their files do not wait for each other", async () => {
  const sizes = [20_000, 21_000];
  const opened = Array.from({ length: 6 }, (_, n) => {
    const parts = sizes.map((size, part) => {
      const bytes = Buffer.alloc(size, `${n} ${part}`);
      return stored(`${n} ${part}`, bytes, [`f${part}`]);
    });
    return files.open(jobWith({ f0: "x", f1: "x" }, ...parts), never);
  });
  await Promise.all(opened.map(async (one) => (await one).close()));
});

test("a cancelled run waits for nothing", async () => {
  const stop = new AbortController();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<undefined>();
  plane.files.trouble = () => {
    asked.resolve();
    return answer.promise;
  };
  const opened = errorOf(files.open(jobWith({ image: "x" }, stored("a")), stop.signal));
  await asked.promise;
  stop.abort(new Error("cancelled"));
  expect(await opened).toMatchObject({ message: "cancelled" });
  answer.resolve(undefined);
});

test("a reader is cut off when its run is over", async () => {
  const roomy = await startFiles({ cache_bytes: 120_000_000, max_file_bytes: 60_000_000 });
  const [url, close] = await openStored("film", Buffer.alloc(50_000_000), roomy);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const reader = httpRequest(url, (response) => {
    response.once("data", () => close());
    response.resume();
    response.on("close", () => resolve(response.complete));
    response.on("error", () => {});
  });
  reader.on("error", () => {}).end();
  expect(await promise).toBe(false);
});
