import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, test, vi } from "vitest";
import { FileCache } from "../../../runner/src/files/file-cache.ts";
import { AddressPolicy } from "../../../runner/src/files/public-address.ts";
import { PublicFetch } from "../../../runner/src/files/public-fetch.ts";
import { type Timeouts, WebFiles } from "../../../runner/src/files/web-files.ts";
import { type Box, openBox } from "../support/containers.ts";
import { ALLOWED, errorOf, serve } from "../support/public-fetch-server.ts";

const MAX = 100_000;
const LIMITS = { bytes: 1_000_000, ageMs: 3_600_000 };
const never = new AbortController().signal;

let folder: string;
let cache: FileCache;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "auspex-web-"));
  cache = new FileCache(folder, LIMITS);
  await cache.start();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const webFiles = (times?: Timeouts) =>
  new WebFiles(new PublicFetch(new AddressPolicy(ALLOWED)), cache, MAX, times);

const kept = () => readdirSync(join(folder, "files")).length;
const onTheWay = () => readdirSync(join(folder, "partial")).length;

async function read(files: WebFiles, url: string, key = "ada"): Promise<string> {
  const held = await files.open(url, key, never);
  const text = readFileSync(held.path, "utf8");
  held.release();
  return text;
}

test("an input file has the name and type that its server states", async () => {
  const web = await serve((request, response) => {
    if (request.url === "/named") {
      response.setHeader("content-disposition", `attachment; filename="a b.png"`);
    } else if (request.url === "/exact") {
      const both = `attachment; filename="x.png"; filename*=UTF-8''%C3%A4.png`;
      response.setHeader("content-disposition", both);
    } else if (request.url?.startsWith("/moved")) {
      response.writeHead(302, { location: "/opaque" });
    }
    response.setHeader("content-type", "image/png").end("x");
  });
  const files = webFiles();
  const names = [];
  for (const path of ["/named", "/exact", "/dir/photo%201.png?size=2#top", "/", "/%E0%A4%A"]) {
    const held = await files.open(web.url + path, "ada", never);
    names.push(held.info.name);
    expect(held.info.mime_type).toBe("image/png");
  }
  expect(names).toEqual(["a b.png", "ä.png", "photo 1.png", "", "%E0%A4%A"]);
});

test.each([
  ["an ETag", { etag: '"1"' }, "if-none-match", '"1"'],
  [
    "a date",
    { "last-modified": "Sat, 21 Nov 2026 05:00:00 GMT" },
    "if-modified-since",
    "Sat, 21 Nov 2026 05:00:00 GMT",
  ],
])("a file with %s is asked for again and not sent again", async (_name, sent, header, value) => {
  const asked: unknown[] = [];
  const web = await serve((request, response) => {
    asked.push(request.headers[header]);
    if (request.headers[header] === value) response.writeHead(304).end();
    else response.writeHead(200, sent).end("bytes");
  });
  expect(await read(webFiles(), `${web.url}/a`)).toBe("bytes");
  // The next process of the runner also has the validators.
  cache = new FileCache(folder, LIMITS);
  await cache.start();
  expect(await read(webFiles(), `${web.url}/a`)).toBe("bytes");
  expect(asked).toEqual([undefined, value]);
});

test("a file that one account has fetched is fetched for another account, too, and kept once", async () => {
  const asked: unknown[] = [];
  const web = await serve((request, response) => {
    asked.push(request.headers["if-none-match"]);
    response.writeHead(200, { etag: '"1"' }).end("bytes");
  });
  const files = webFiles();
  const keys = ["ada", "eve", "ada"];
  for (const key of keys) expect(await read(files, web.url, key)).toBe("bytes");
  expect(asked).toEqual([undefined, undefined, '"1"']);
  expect(kept()).toBe(1);
  const held = await Promise.all(keys.map((key) => files.open(`${web.url}/slow`, key, never)));
  expect(asked).toHaveLength(5);
  for (const one of held) one.release();
});

test("a file that has changed is sent again", async () => {
  let version = 1;
  const web = await serve((_request, response) => {
    response.writeHead(200, { etag: `"${version}"` }).end(`bytes ${version}`);
  });
  const files = webFiles();
  expect(await read(files, web.url)).toBe("bytes 1");
  version = 2;
  expect(await read(files, web.url)).toBe("bytes 2");
  expect(kept()).toBe(1);
});

test("a file without validators is fetched again, and the same bytes are kept once", async () => {
  const web = await serve((_request, response) => response.end("bytes"));
  const files = webFiles();
  for (const path of ["/a", "/a", "/b"]) expect(await read(files, web.url + path)).toBe("bytes");
  expect(web.requests).toHaveLength(3);
  expect(kept()).toBe(1);
});

test("an ETag is valid only for the address that gave it, because a redirect may lead elsewhere", async () => {
  let place = "/old";
  const web = await serve((request, response) => {
    if (request.url === "/") response.writeHead(302, { location: place }).end();
    else if (request.headers["if-none-match"] === '"1"') response.writeHead(304).end();
    else response.writeHead(200, { etag: '"1"' }).end(request.url);
  });
  const files = webFiles();
  expect(await read(files, web.url)).toBe("/old");
  expect(await read(files, web.url)).toBe("/old");
  place = "/new";
  expect(await read(files, web.url)).toBe("/new");
});

test("a date is valid for the whole address with its query, because a signature is not kept", async () => {
  let latest = "new";
  const dates: Record<string, string> = {
    new: "Fri, 20 Nov 2026 00:00:00 GMT",
    old: "Mon, 02 Nov 2026 00:00:00 GMT",
  };
  const web = await serve((request, response) => {
    const name = new URL(request.url ?? "", "http://x").searchParams.get("file");
    if (name === null) return response.writeHead(302, { location: `/get?file=${latest}` }).end();
    const [date = "", since] = [dates[name], request.headers["if-modified-since"]];
    const unchanged = since !== undefined && Date.parse(date) <= Date.parse(since);
    if (unchanged) return response.writeHead(304).end();
    return response.writeHead(200, { "last-modified": date }).end(name);
  });
  const files = webFiles();
  expect(await read(files, `${web.url}/latest`)).toBe("new");
  latest = "old";
  expect(await read(files, `${web.url}/latest`)).toBe("old");
  const [record = ""] = readdirSync(join(folder, "sources"));
  expect(readFileSync(join(folder, "sources", record), "utf8")).not.toContain("file=");
});

test("a failure of a web server is retried, or reported to the caller", async () => {
  let failures = 2;
  const web = await serve((request, response) => {
    if (failures-- > 0) request.socket.destroy();
    else response.end("bytes");
  });
  const files = webFiles();
  expect(await read(files, web.url)).toBe("bytes");
  failures = 3;
  expect(await errorOf(files.open(`${web.url}/?key=secret`, "ada", never))).toMatchObject({
    source: "external",
    message: `${web.host} could not be read: ECONNRESET`,
  });
  expect(web.requests).toHaveLength(6);
});

test("a file that does not exist is asked for once", async () => {
  const web = await serve((_request, response) => response.writeHead(404).end());
  expect(await errorOf(webFiles().open(web.url, "ada", never))).toMatchObject({
    source: "external",
    message: `${web.host} responded with status 404`,
  });
  expect(web.requests).toHaveLength(1);
});

test.each([
  ["with Content-Length", { "content-length": String(MAX + 1) }],
  ["without", {}],
])("a file that is too large (%s) is refused, and nothing of it stays", async (_name, headers) => {
  const web = await serve((_request, response) => {
    response.writeHead(200, headers).end(Buffer.alloc(MAX + 1));
  });
  expect(await errorOf(webFiles().open(web.url, "ada", never))).toMatchObject({
    source: "external",
    message: expect.stringContaining("exceeds this runner's limit of"),
  });
  expect([kept(), onTheWay()]).toEqual([0, 0]);
});

test("a body that is shorter than announced is never kept", async () => {
  let cut = 3;
  const web = await serve((_request, response) => {
    response.writeHead(200, { "content-length": 10, etag: '"1"' });
    if (cut-- > 0) response.write("12345", () => response.destroy());
    else response.end("1234567890");
  });
  const files = webFiles();
  expect(await errorOf(files.open(web.url, "ada", never))).toMatchObject({
    source: "external",
    message: expect.stringContaining(`${web.host} could not be read`),
  });
  expect([kept(), onTheWay()]).toEqual([0, 0]);
  expect(await read(files, web.url)).toBe("1234567890");
});

test("an invalid address is refused", async () => {
  expect(await errorOf(webFiles().open("photo.png", "ada", never))).toMatchObject({
    source: "external",
  });
});

test.each([
  ["silence before the answer", () => {}, { idleMs: 100, totalMs: 60_000 }, "no data for"],
  [
    "silence in the middle",
    (_request: IncomingMessage, response: ServerResponse) => void response.write("x"),
    { idleMs: 100, totalMs: 60_000 },
    "no data for",
  ],
  [
    "a trickle without end",
    (_request: IncomingMessage, response: ServerResponse) => {
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(timer));
    },
    { idleMs: 60_000, totalMs: 200 },
    "timeout",
  ],
])("an answer is not waited for: %s", async (_name, handler, times, message) => {
  const web = await serve(handler);
  expect(await errorOf(webFiles(times).open(web.url, "ada", never))).toMatchObject({
    source: "external",
    message: expect.stringContaining(message),
  });
  expect([kept(), onTheWay()]).toEqual([0, 0]);
});

/** Starts a server that sends the second half of a file on demand. */
async function halting() {
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<ServerResponse>();
  const web = await serve(async (_request, response) => {
    response.write("first ");
    begin(response);
    await goesOn;
    response.end("second");
  });
  return { web, begun, goOn };
}

test("runs that want the same file at the same time share one download", async () => {
  const { web, begun, goOn } = await halting();
  const files = webFiles();
  const opened = [1, 2, 3].map(() => files.open(web.url, "ada", never));
  await begun;
  goOn();
  const all = await Promise.all(opened);
  expect(web.requests).toHaveLength(1);
  for (const held of all) expect(readFileSync(held.path, "utf8")).toBe("first second");
  // Each run releases the file by itself, and it stays as long as one holds it.
  all[0]?.release();
  all[1]?.release();
  all[1]?.release();
  const other = await cache.store("other", { name: "", mime_type: "" }, big(995_000)).catch(String);
  expect(other).toMatch(/full of files in use/);
  expect(readFileSync(all[2]?.path ?? "", "utf8")).toBe("first second");
  all[2]?.release();
  (await cache.store("other", { name: "", mime_type: "" }, big(995_000))).release();
});

async function* big(size: number) {
  yield Buffer.alloc(size);
}

test("a run that gives up does not end the shared download for the others", async () => {
  const { web, begun, goOn } = await halting();
  const files = webFiles();
  const first = new AbortController();
  const left = errorOf(files.open(web.url, "ada", first.signal));
  const stays = files.open(web.url, "ada", never);
  await begun;
  first.abort(new Error("cancelled"));
  expect(await left).toMatchObject({ message: "cancelled" });
  goOn();
  expect(readFileSync((await stays).path, "utf8")).toBe("first second");
});

test("a download ends when no run waits for it, and the next one starts again", async () => {
  const { web, begun, goOn } = await halting();
  const files = webFiles();
  const [one, two] = [new AbortController(), new AbortController()];
  const left = [one, two].map(({ signal }) => errorOf(files.open(web.url, "ada", signal)));
  const response = await begun;
  const closed = once(response, "close");
  one.abort();
  two.abort();
  await Promise.all([...left, closed]);
  await vi.waitFor(() => expect(onTheWay()).toBe(0));
  goOn();
  expect(await read(files, web.url)).toBe("first second");
  expect(web.requests).toHaveLength(2);
});

let box: Box;
beforeAll(async () => {
  box = await openBox();
});
afterAll(() => box.close());

const files = [{ at: ["image"] }];
const image = "https://10.0.0.1/private.png";

it("an input file that cannot be fetched ends the run before its container is ready", async () => {
  const run = box.run("liar", { image }, { files, variables: { SETUP: "endless" } });
  expect(await run.finish).toMatchObject({
    status: "failed",
    error: { source: "external", message: expect.stringMatching(/^input\.image: 10\.0\.0\.1/) },
  });
  expect(JSON.stringify(run.reporter.of("setup"))).not.toContain("ready");
});

it("the next run has the container to itself", async () => {
  const name = { name: "Ada" };
  const failed = await box.run("hello", { ...name, image }, { files }).finish;
  expect(failed.status).toBe("failed");
  const { finish, reporter } = box.run("hello", name);
  expect(await finish).toMatchObject({ status: "succeeded" });
  expect(reporter.of("output")).toEqual(["Hello, Ada!"]);
});
