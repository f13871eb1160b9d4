/** A large upload over real HTTP: it goes through the Worker, and never into its memory. */
import { createCipheriv, createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { partLength, type Upload, upload } from "../../src/protocol/upload.ts";
import { workerdPid } from "../processes/workerd.ts";
import { World } from "./support/world.ts";

const SIZE = 300_000_000;
/** The bytes that are held back of each part until all parts are under way. */
const HELD = 16;
/**
 * The most that workerd may grow by, bytes. The local R2 is in the same process: it makes 160 MB of garbage
 * while the file comes, and takes the whole file into memory before it sends it. A Worker that buffered would
 * add 270 MB each time.
 */
const MOST = { sent: 300_000_000, read: 500_000_000 };

let world: World;

beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

/** Returns any part of the same 300 MB: a key stream, each block of which can be computed from its number. */
function contentAt(offset: number, length: number): Buffer {
  const counter = Buffer.alloc(16);
  counter.writeBigUInt64BE(BigInt(offset / 16), 8);
  return createCipheriv("aes-128-ctr", "seed of the file", counter).update(Buffer.alloc(length));
}

/** Returns the anonymous memory of workerd, bytes: files in the page cache are the system's. */
function anonymous(pid: number | undefined): number {
  const [, kilobytes] =
    /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

/** Returns how much workerd grows above its present memory during `act`, bytes. */
async function growthWhile(act: () => Promise<void>): Promise<number> {
  const pid = workerdPid();
  const before = anonymous(pid);
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, anonymous(pid));
  }, 20);
  try {
    await act();
  } finally {
    clearInterval(timer);
  }
  return peak - before;
}

const put = (url: string, length: number): ClientRequest =>
  request(url, { method: "PUT", headers: { "content-length": length } });

/** Sends the first half of a body, and then closes the connection. */
async function sendHalf(url: string, body: Buffer): Promise<void> {
  const sending = put(url, body.length).on("error", () => {});
  sending.write(body.subarray(0, body.length / 2), () => sending.destroy());
  await new Promise((resolve) => sending.on("close", resolve));
}

/** Sends all but the end of a body. @returns a function that sends the end and resolves to the ETag */
async function sendMost(url: string, body: Buffer): Promise<() => Promise<string>> {
  const sending = put(url, body.length);
  const answering = new Promise<IncomingMessage>((resolve, reject) => {
    sending.on("response", resolve).on("error", reject);
  });
  await new Promise((resolve) => sending.write(body.subarray(0, -HELD), resolve));
  return async () => {
    sending.end(body.subarray(-HELD));
    const { statusCode, headers } = await answering;
    if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
    return headers.etag ?? "";
  };
}

it("an upload takes 300 MB in parts at once, one of them cut off, and gives them back unchanged", async () => {
  const facts = { size: SIZE, mime_type: "application/octet-stream", name: "large.bin" };
  const begun = await world.client.call(upload, "POST", "/uploads", { body: facts });
  const get = () => world.client.call(upload, "GET", `/uploads/${begun.id}`);
  const partOf = (n: number) => {
    const { part_size } = begun;
    return contentAt(n * part_size, partLength(SIZE, part_size, n + 1));
  };

  let etags: string[] = [];
  const whileSent = await growthWhile(async () => {
    await sendHalf(begun.urls[1] ?? "", partOf(1));
    const finish = await Promise.all(begun.urls.map((url, n) => sendMost(url, partOf(n))));
    expect((await get()).parts).toEqual([]);
    etags = await Promise.all(finish.map((end) => end()));
  });
  expect((await get()).parts.map(({ etag }) => etag)).toEqual(etags);
  const done = await complete(begun, etags);

  const expected = createHash("sha256");
  for (const n of begun.urls.keys()) expected.update(partOf(n));
  const read = createHash("sha256");
  const whileRead = await growthWhile(async () => {
    const response = await fetch(done.file_url ?? "");
    expect(response.headers.get("content-length")).toBe(String(SIZE));
    for await (const chunk of response.body ?? []) read.update(chunk);
  });
  expect(read.digest("hex")).toBe(expected.digest("hex"));
  expect(whileSent).toBeLessThan(MOST.sent);
  expect(whileRead).toBeLessThan(MOST.read);
});

const complete = ({ id }: Upload, etags: string[]) =>
  world.client.call(upload, "POST", `/uploads/${id}/complete`, { body: { etags } });
