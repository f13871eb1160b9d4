import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it, test } from "vitest";
import type { SaveFile } from "../../../runner/src/files/output-queue.ts";
import { CogWebhooks, readReport } from "../../../runner/src/interfaces/cog/webhooks.ts";
import { CallbackServer, type Endpoint } from "../../../runner/src/lib/callback-server.ts";
import { sized } from "../../support/sized.ts";

const LARGE = 2_000_000;
const LONG = { waitMs: 60_000, turnMs: 60_000 };

let callbackServer: CallbackServer;
/** Reports that were handled, in their order. */
let seen: string[];
beforeEach(async () => {
  callbackServer = new CallbackServer();
  const port = await callbackServer.listen("127.0.0.1");
  callbackServer.setBaseUrl(new URL(`http://127.0.0.1:${port}`));
  seen = [];
});
afterEach(() => callbackServer.close());

const expectRun = (receiver: CogWebhooks, name: string): Endpoint =>
  receiver.expect({
    token: "t",
    maxBytes: 10_000_000,
    saveFile: undefined,
    fail: ({ message }) => void seen.push(`${name} fails: ${message}`),
    report: (body) => void seen.push(`${name}: ${body.trim()}`),
    distrust: (what) => void seen.push(`${name} is not trusted: ${what}`),
  });

interface Sent {
  outgoing: ClientRequest;
  /** The status of the answer; 0 when the connection was cut. */
  status: Promise<number>;
}

/** Sends the headers of a report, and resolves when the receiver has them. */
async function begin({ url }: Endpoint, length: number): Promise<Sent> {
  const headers = { authorization: "Bearer t", "content-length": length, expect: "100-continue" };
  const outgoing = request(url, { method: "POST", headers, agent: false });
  const { promise: status, resolve } = Promise.withResolvers<number>();
  outgoing.on("response", (response: IncomingMessage) => {
    resolve(response.statusCode ?? 0);
    response.resume();
  });
  outgoing.on("error", () => resolve(0));
  outgoing.flushHeaders();
  await once(outgoing, "continue");
  return { outgoing, status };
}

const end = ({ outgoing, status }: Sent, text: string, length: number): Promise<number> => {
  outgoing.end(text.padEnd(length));
  return status;
};

test("one report of a run is read at a time, in the order of arrival", async () => {
  const run = expectRun(new CogWebhooks(callbackServer, LONG), "run");
  const first = await begin(run, 10);
  const second = await begin(run, 10);
  const answered = end(second, "second", 10);
  first.outgoing.write("first");
  expect(await end(first, "", 5)).toBe(200);
  expect(await answered).toBe(200);
  expect(seen).toEqual(["run: first", "run: second"]);
});

test("a limited number of reports can wait, and further ones are refused and sent again", async () => {
  const run = expectRun(new CogWebhooks(callbackServer, LONG), "run");
  const waiting: Sent[] = [];
  for (let n = 0; n < 16; n++) waiting.push(await begin(run, 10));
  const over = await begin(run, 10);
  expect(await over.status).toBe(503);
  const statuses = waiting.map((one, n) => end(one, `${n}`, 10));
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
  expect(seen).toEqual(waiting.map((_, n) => `run: ${n}`));
});

test("one large report of all runs is read at a time, and small ones beside it", async () => {
  const receiver = new CogWebhooks(callbackServer, LONG);
  const a = expectRun(receiver, "a");
  const b = expectRun(receiver, "b");
  const c = expectRun(receiver, "c");
  const first = await begin(a, LARGE);
  const second = await begin(b, LARGE);
  const waits = end(second, "large", LARGE);
  expect(await end(await begin(c, 10), "small", 10)).toBe(200);
  expect(await end(first, "large", LARGE)).toBe(200);
  expect(await waits).toBe(200);
  expect(seen).toEqual(["c: small", "a: large", "b: large"]);
});

test("a report that waits too long is refused, because Cog up to 0.16 does nothing else meanwhile", async () => {
  const receiver = new CogWebhooks(callbackServer, { waitMs: 20, turnMs: 60_000 });
  await begin(expectRun(receiver, "a"), LARGE);
  const second = await begin(expectRun(receiver, "b"), LARGE);
  expect(await second.status).toBe(503);
  expect(seen).toEqual([]);
});

test("a report that comes too slowly is cut off, and its run fails", async () => {
  const receiver = new CogWebhooks(callbackServer, { waitMs: 60_000, turnMs: 1_000 });
  const slow = await begin(expectRun(receiver, "a"), LARGE);
  const other = await begin(expectRun(receiver, "b"), 10);
  slow.outgoing.write("x");
  expect(await end(other, "b", 10)).toBe(200);
  expect(await slow.status).toBe(0);
  expect(seen).toContain("a is not trusted: less than 1 MB of a report in 1 s");
});

test("a report that announces too many bytes is not read", async () => {
  const run = expectRun(new CogWebhooks(callbackServer, LONG), "run");
  const large = await begin(run, 10_000_001);
  expect(await large.status).toBe(413);
  expect(seen).toEqual([
    expect.stringMatching(
      /^run is not trusted: a report that exceeds the limits of output and logs$/,
    ),
  ]);
});

test("the end of a run ends all waits for its reports", async () => {
  const run = expectRun(new CogWebhooks(callbackServer, LONG), "run");
  await begin(run, 10);
  const second = await begin(run, 10);
  run.close();
  expect(await second.status).toBe(503);
  expect(seen).toEqual([]);
});

const INLINE = 70_000;
const uri = (bytes: Buffer, type = "image/png") =>
  `data:${type};base64,${bytes.toString("base64")}`;

/** Reads the text in these pieces; files become `kept:0`, `kept:1` …, and are returned. */
async function read(text: string, cuts: number[] = [], maxBytes = 1_000_000, keeps = true) {
  const bytes = Buffer.from(text);
  const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length)])].sort((a, b) => a - b);
  const pieces = places.map((from, n) => bytes.subarray(from, places[n + 1]));
  const kept: { type: string; bytes: Buffer }[] = [];
  const saveFile: SaveFile = async (content, type) => {
    const parts: Uint8Array[] = [];
    for await (const part of content) parts.push(part);
    kept.push({ type, bytes: Buffer.concat(parts) });
    return `kept:${kept.length - 1}`;
  };
  const sizes: number[] = [];
  const backpressure = async (size: number) => void sizes.push(size);
  const message = Readable.from(pieces.filter(({ length }) => length > 0));
  const options = { maxBytes, saveFile: keeps ? saveFile : undefined, backpressure };
  const body = await readReport(message, options);
  return { body, kept, sizes, message };
}

it("a report without a large file is returned unchanged, however it is cut", async () => {
  const text = fc.string({ unit: "binary" });
  const small = fc.uint8Array({ maxLength: 50 }).map((bytes) => uri(Buffer.from(bytes)));
  const value = fc.dictionary(text, fc.oneof(text, small, fc.array(text), fc.integer()));
  await fc.assert(
    fc.asyncProperty(value, fc.array(fc.nat(2_000)), async (report, cuts) => {
      const json = JSON.stringify(report);
      const { body, kept } = await read(json, cuts);
      expect(body).toBe(json);
      expect(kept).toEqual([]);
    }),
    { numRuns: sized(25, 100) },
  );
});

it("a report has addresses for large files, whose bytes are kept in order, however it is cut", async () => {
  const size = fc.integer({ min: INLINE, max: INLINE + 6 });
  const cut = fc.nat(1_000_000);
  await fc.assert(
    fc.asyncProperty(fc.array(size, { maxLength: 3 }), fc.array(cut), async (sizes, cuts) => {
      const files = sizes.map((length, n) => Buffer.alloc(length, `file ${n}`));
      const output = (named: string[]) => JSON.stringify({ logs: 'a "\\', output: [...named, 1] });
      const { body, kept } = await read(output(files.map((file) => uri(file))), cuts);
      expect(body).toBe(output(files.map((_, n) => `kept:${n}`)));
      expect(kept.map(({ type }) => type)).toEqual(files.map(() => "image/png"));
      for (const [n, file] of files.entries()) expect(kept[n]?.bytes.equals(file)).toBe(true);
    }),
    { numRuns: sized(8, 30) },
  );
});

it("a report may be larger than its limit in memory, and says how much has come", async () => {
  const file = Buffer.alloc(3_000_000, "x");
  const text = JSON.stringify({ output: uri(file) });
  const { body, sizes } = await read(text, [1_000_000, 2_000_000], 1_000);
  expect(body).toBe(JSON.stringify({ output: "kept:0" }));
  expect(sizes.at(-1)).toBe(text.length);
});

it.each(["x", '"', "\\"])(
  "a report is undefined when its remaining text exceeds the memory limit: %j",
  async (one) => {
    const { body, message } = await read(JSON.stringify({ logs: one.repeat(5_000) }), [100], 1_000);
    expect(body).toBeUndefined();
    expect(message.destroyed).toBe(true);
  },
);

it("a report in which texts are no files keeps none", async () => {
  const text = JSON.stringify({ output: uri(Buffer.alloc(INLINE)) });
  expect(await read(text, [], 1_000_000, false)).toMatchObject({ body: text, kept: [] });
});

it.each([
  ["no media type", "", "A"],
  ["not base64 by name", "image/png,", ""],
])("a report keeps a text with %s", async (_, type) => {
  const text = JSON.stringify(`data:${type};base64,${"A".repeat(4 * INLINE)}`);
  expect(await read(text)).toMatchObject({ body: text, kept: [] });
});

it.each(["*", "A=AA", "AA\\n"])("a report with invalid base64 is refused: %j", async (wrong) => {
  const text = JSON.stringify(`data:image/png;base64,${"A".repeat(INLINE)}${wrong}`);
  await expect(read(text)).rejects.toThrow("is not valid base64");
});

it("a report that ends inside a file is refused", async () => {
  const text = `{"output":"${uri(Buffer.alloc(2 * INLINE))}`;
  await expect(read(text)).rejects.toThrow("the report ends inside a file");
});
