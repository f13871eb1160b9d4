/** Upload of a file's parts to a server on loopback that misbehaves. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { FileError, type Parts, sendParts } from "../../../runner/src/files/send-parts.ts";
import { errorOf } from "../support/public-fetch-server.ts";

const PART = 300_000;
const SIZE = 2 * PART + 12_345;
/** More bytes than fit between two sockets, so that a sender is still sending when something happens. */
const LARGE = 12_000_000;
/** A time longer than a busy machine delays other processes. */
const IDLE_MS = 6_000;

interface Arrival {
  number: number;
  /** The number of the try, from 1. */
  tries: number;
  request: IncomingMessage;
  response: ServerResponse;
}

/** One file, and the parts of it that the server has. */
class Transfer {
  readonly file: string;
  readonly content: Buffer;
  readonly have = new Map<number, Buffer>();
  /** The number of each part, in the order of arrival. */
  readonly arrivals: number[] = [];
  /** Returns whether it has handled the request itself. */
  trouble: (arrival: Arrival) => boolean | Promise<boolean> = () => false;
  sent = 0;
  readonly #base: string;

  constructor(name: string, size: number) {
    this.file = join(folder, name);
    this.content = randomBytes(size);
    writeFileSync(this.file, this.content);
    this.#base = `${base}/${name}`;
    transfers.set(name, this);
  }

  send(options: Partial<Parts> = {}): Promise<string[]> {
    const { file, content } = this;
    const { size = content.length, partSize = PART } = options;
    const count = Math.ceil(size / partSize);
    const urls = Array.from({ length: count }, (_, n) => `${this.#base}/${n + 1}?signature=x`);
    const onSent = (bytes: number) => {
      this.sent += bytes;
    };
    const signal = new AbortController().signal;
    return sendParts({ file, size, partSize, urls, parallel: 3, signal, onSent, ...options });
  }

  /** The received parts, joined. */
  get received(): Buffer {
    const numbers = [...this.have.keys()].sort((a, b) => a - b);
    return Buffer.concat(numbers.map((number) => this.have.get(number) ?? Buffer.alloc(0)));
  }

  async receive(number: number, request: IncomingMessage, response: ServerResponse) {
    this.arrivals.push(number);
    const tries = this.arrivals.filter((one) => one === number).length;
    if (await this.trouble({ number, tries, request, response })) return;
    const body = await buffer(request);
    this.have.set(number, body);
    response.writeHead(200, { etag: etagOf(body) }).end("{}");
  }
}

const etagOf = (body: Buffer) => `"${createHash("sha256").update(body).digest("hex")}"`;

const refuse = (response: ServerResponse, status: number, headers = {}) => {
  const body = { type: "t", title: "No", status, detail: "The address has expired." };
  response.writeHead(status, headers).end(JSON.stringify({ ...body, request_id: "r" }));
  return true;
};

const transfers = new Map<string, Transfer>();
const server = createServer((request, response) => {
  const [, name = "", number] = new URL(request.url ?? "", base).pathname.split("/");
  const { method, headers } = request;
  expect([method, headers.authorization, headers.expect]).toEqual(["PUT", undefined, undefined]);
  // A request that hung up gets no answer.
  transfers
    .get(name)
    ?.receive(Number(number), request, response)
    .catch(() => response.destroy());
});
let folder: string;
let base: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "auspex-parts-"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  rmSync(folder, { recursive: true });
});

/** Holds requests until `count` are there together, and then lets them all go. */
function together(count: number) {
  const waiting: (() => void)[] = [];
  return async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (waiting.push(resolve) === count) for (const go of waiting.splice(0)) go();
    await promise;
  };
}

/** Returns the file descriptors of this process that are open on the file. */
const openOn = (file: string): string[] =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === file;
    } catch {
      return false;
    }
  });

describe.concurrent("what comes through", () => {
  it("every part is sent with its exact length, and the ETags are in order", async () => {
    const transfer = new Transfer("plain", SIZE);
    const lengths: unknown[] = [];
    transfer.trouble = async ({ number, request }) => {
      lengths[number - 1] = request.headers["content-length"];
      expect(request.headers["transfer-encoding"]).toBe(undefined);
      return false;
    };
    const etags = await transfer.send();
    expect(etags).toEqual([1, 2, 3].map((n) => etagOf(transfer.have.get(n) ?? Buffer.alloc(0))));
    expect(lengths).toEqual([`${PART}`, `${PART}`, "12345"]);
    expect(transfer.received.equals(transfer.content)).toBe(true);
    expect(transfer.sent).toBe(SIZE);
    expect(openOn(transfer.file)).toEqual([]);
  });

  it("a part that the store has is not sent again", async () => {
    const transfer = new Transfer("had", SIZE);
    const etags = await transfer.send({ completed: new Map([[2, '"two"']]) });
    expect(transfer.arrivals.sort()).toEqual([1, 3]);
    expect(etags[1]).toBe('"two"');
    expect(transfer.sent).toBe(SIZE - PART);
  });

  it("no part is sent when the store has all of them", async () => {
    const transfer = new Transfer("whole", 10);
    expect(await transfer.send({ completed: new Map([[1, "one"]]) })).toEqual(["one"]);
    expect(transfer.arrivals).toEqual([]);
  });

  it("a limited number of parts is sent at a time", async () => {
    const transfer = new Transfer("parallel", 12 * 1_000);
    let [now, most] = [0, 0];
    const gather = together(4);
    transfer.trouble = async ({ response }) => {
      most = Math.max(most, ++now);
      response.once("close", () => now--);
      await gather();
      return false;
    };
    await transfer.send({ partSize: 1_000, parallel: 4 });
    expect([most, transfer.arrivals.length]).toEqual([4, 12]);
  });

  it("a slow part is sent as long as bytes move", async () => {
    const transfer = new Transfer("slow", 10);
    // A busy machine may stop this process for seconds.
    const idleMs = 5_000;
    transfer.trouble = async ({ request, response }) => {
      await buffer(request);
      response.writeHead(200, { etag: "slow" });
      for (let n = 0; n < 3; n++) {
        response.write(" ");
        await sleep(0.4 * idleMs);
      }
      return !!response.end();
    };
    expect(await transfer.send({ idleMs })).toEqual(["slow"]);
    expect(transfer.arrivals).toEqual([1]);
  });
});

describe.concurrent("what is tried again, by itself", () => {
  const troubles: [string, (arrival: Arrival) => boolean | Promise<boolean>][] = [
    ["busy", ({ response }) => refuse(response, 503)],
    ["cut-at-once", ({ response }) => !!response.destroy()],
    [
      "cut-midway",
      async ({ request, response }) => {
        await once(request, "data");
        return !!response.destroy();
      },
    ],
    [
      "cut-before-the-answer",
      async ({ request, response }) => {
        await buffer(request);
        return !!response.destroy();
      },
    ],
    [
      "cut-in-the-answer",
      async ({ request, response }) => {
        await buffer(request);
        response.writeHead(200, { etag: "x", "content-length": 100 }).write("{");
        setImmediate(() => response.destroy());
        return true;
      },
    ],
    ["silent", () => true],
    [
      "silent-after-the-body",
      async ({ request }) => {
        await buffer(request);
        return true;
      },
    ],
  ];
  it.for(troubles)("a part is tried again after trouble: %s", async ([name, trouble]) => {
    const transfer = new Transfer(name, SIZE);
    transfer.trouble = (arrival) => arrival.number === 2 && arrival.tries === 1 && trouble(arrival);
    const isSilent = name.startsWith("silent");
    const etags = await transfer.send(isSilent ? { idleMs: IDLE_MS } : {});
    expect(transfer.arrivals.sort()).toEqual([1, 2, 2, 3]);
    expect(etags[1]).toBe(etagOf(transfer.have.get(2) ?? Buffer.alloc(0)));
    expect(transfer.received.equals(transfer.content)).toBe(true);
    expect(transfer.sent).toBe(SIZE);
  });

  it("a part is not tried again before the server wants it", async () => {
    const transfer = new Transfer("later", 10);
    transfer.trouble = ({ tries, response }) =>
      tries === 1 && refuse(response, 429, { "retry-after": "1" });
    const began = performance.now();
    await transfer.send();
    expect(performance.now() - began).toBeGreaterThanOrEqual(1_000);
    expect(transfer.arrivals).toEqual([1, 1]);
  });
});

describe.concurrent("what ends it", () => {
  it("a refusal ends the upload with the server's message; the others stop, and the rest is not sent", async () => {
    const transfer = new Transfer("refused", 3 * LARGE);
    transfer.trouble = ({ number, response }) => number !== 2 || refuse(response, 403);
    const error = await errorOf(transfer.send({ partSize: LARGE, parallel: 2 }));
    expect(error).toMatchObject({
      status: 403,
      message: "part 2 of 3: The address has expired.",
    });
    expect(transfer.arrivals.sort()).toEqual([1, 2]);
    expect(transfer.sent).toBe(0);
    await vi.waitFor(() => expect(openOn(transfer.file)).toEqual([]));
  });

  it("a refusal whose message is lost when a body comes is read at the next try", async () => {
    const transfer = new Transfer("rude", 10);
    transfer.trouble = async ({ request, response }) => {
      const body = once(request, "data").then(() => true);
      const interrupted = await Promise.race([body, sleep(100).then(() => false)]);
      return interrupted ? !!response.destroy() : refuse(response, 403);
    };
    const message = "part 1 of 1: The address has expired.";
    expect(await errorOf(transfer.send())).toMatchObject({ status: 403, message });
    expect(transfer.arrivals).toEqual([1, 1]);
    expect(transfer.sent).toBe(0);
  });

  it("an answer without an ETag ends the upload", async () => {
    const transfer = new Transfer("untagged", 10);
    transfer.trouble = async ({ request, response }) => {
      await buffer(request);
      return !!response.writeHead(200).end("{}");
    };
    const message = "part 1 of 1: the response has no ETag";
    expect(await errorOf(transfer.send())).toMatchObject({ status: 200, message });
    expect(transfer.arrivals).toEqual([1]);
  });

  it("the caller can end the upload at any time, and no work goes on", async () => {
    const transfer = new Transfer("aborted", 3 * LARGE);
    const closed: Promise<unknown>[] = [];
    const gather = together(3);
    transfer.trouble = async ({ request }) => {
      closed.push(new Promise((resolve) => request.socket.once("close", resolve)));
      await gather();
      stop.abort(new Error("enough"));
      request.on("error", () => {}).resume();
      return true;
    };
    const stop = new AbortController();
    const error = await errorOf(transfer.send({ partSize: LARGE, signal: stop.signal }));
    expect(error).toMatchObject({ message: "enough" });
    await Promise.all(closed);
    expect(transfer.sent).toBe(0);
    expect(closed.length).toBe(3);
    await vi.waitFor(() => expect(openOn(transfer.file)).toEqual([]));
  });

  it("the caller can end the upload while it waits to try again", async () => {
    const transfer = new Transfer("aborted-waiting", 10);
    const stop = new AbortController();
    transfer.trouble = ({ response }) => {
      response.once("finish", () => setTimeout(() => stop.abort(new Error("enough")), 50));
      return refuse(response, 503, { "retry-after": "60" });
    };
    const error = await errorOf(transfer.send({ signal: stop.signal }));
    expect(error).toMatchObject({ message: "enough" });
    expect(transfer.arrivals).toEqual([1]);
  });

  it.for<[string, (file: string) => void]>([
    ["grows", (file) => appendFileSync(file, "more")],
    ["shrinks", (file) => truncateSync(file, PART + 5)],
    ["is-touched", (file) => utimesSync(file, 1, 1)],
    ["is-removed", (file) => rmSync(file)],
  ])("a file that %s during the upload ends it", async ([name, change]) => {
    const transfer = new Transfer(name, SIZE);
    transfer.trouble = ({ number }) => {
      if (number === 1) change(transfer.file);
      return false;
    };
    const error = await errorOf(transfer.send({ parallel: 1 }));
    expect(error).toBeInstanceOf(FileError);
    expect(error).toMatchObject({ message: expect.stringContaining(transfer.file) });
    expect(transfer.arrivals).toEqual([1]);
  });

  it("a file that ends in the middle of a part is not retried", async () => {
    const transfer = new Transfer("ends", 2 * LARGE);
    transfer.trouble = ({ number }) => {
      if (number === 2) truncateSync(transfer.file, 2 * LARGE - 5);
      return false;
    };
    const error = await errorOf(transfer.send({ partSize: LARGE, parallel: 1 }));
    expect(error).toBeInstanceOf(FileError);
    expect(error).toMatchObject({
      message: expect.stringMatching(
        / changed during the upload. Upload it again once nothing writes to it$/,
      ),
    });
    expect(transfer.arrivals).toEqual([1, 2]);
    expect([...transfer.have.keys()]).toEqual([1]);
  });

  it.for<[string, Partial<Parts>]>([
    ["has-another-size", { size: 11 }],
    ["was-written-to-before", { mtimeMs: 1 }],
    ["is-not-there", { file: "/nowhere/at/all" }],
    ["is-a-folder", { file: tmpdir() }],
  ])("a file that %s is refused before anything is sent", async ([name, options]) => {
    const transfer = new Transfer(name, 10);
    expect(await errorOf(transfer.send(options))).toBeInstanceOf(FileError);
    expect(transfer.arrivals).toEqual([]);
  });
});
