/** Fetches large files over several connections at once, as many as all of them together may have. */
import type { IncomingMessage } from "node:http";
import pLimit from "p-limit";
import { sleep } from "../../../src/lib/timeout.ts";
import { external } from "../../../src/run/failure.ts";
import { retryDelayMs } from "../control-plane/json-client.ts";
import { IdleTimeout } from "../files/transfer.ts";
import { ControlPlaneError, isRetryable, statusOf } from "../lib/error.ts";
import { lengthOf, type PartialFile } from "./partial-file.ts";
import type { ByteRange } from "./range-plan.ts";
import { type FileSource, requestRange } from "./range-request.ts";

/** The most connections for all files, and for one file: no file that starts blocks the others. */
const CONNECTIONS = 16;
const CONNECTIONS_PER_FILE = 8;

/** Attempts in a row that receive no byte. */
const ATTEMPTS = 6;
const DELAYS = { baseMs: 250, maxMs: 8_000 };
const IDLE_TIMEOUT_MS = 60_000;

/** Bytes that are written at once: the network gives 64 KiB at most. */
const WRITE_BYTES = 1024 * 1024;

export interface Download {
  /** The sources of all waiters for the file: one waiter's URL may have expired while another's is valid. */
  sources: Iterable<FileSource>;
  onBytes: (bytes: number) => void;
  signal: AbortSignal;
}

export class Downloads {
  readonly #limit;

  constructor(connections = CONNECTIONS) {
    this.#limit = pLimit(connections);
  }

  /** @throws Failure, ControlPlaneError, the signal's reason. Then it can be gone on with */
  async fetch(file: PartialFile, download: Download): Promise<void> {
    const failed = new AbortController();
    const signal = AbortSignal.any([download.signal, failed.signal]);
    // Each connection takes the next missing range.
    const missing = file.missing.values();
    const connection = async () => {
      for (const index of missing) {
        await this.#limit(() => fetchRange(file, index, { ...download, signal }));
      }
    };
    const connections = Array.from({ length: CONNECTIONS_PER_FILE }, () =>
      connection().catch((error: unknown) => failed.abort(error)),
    );
    // All connections end first: none may write to a file that is closed.
    await Promise.all(connections);
    signal.throwIfAborted();
  }
}

async function fetchRange(file: PartialFile, index: number, download: Download): Promise<void> {
  const { onBytes, signal } = download;
  const range = file.rangeAt(index);
  let come = 0;
  for (let failures = 0; come < lengthOf(range); ) {
    signal.throwIfAborted();
    const before = come;
    try {
      const rest = { first: range.first + come, last: range.last };
      await fetchRest(file, rest, {
        ...download,
        onBytes: (bytes) => {
          come += bytes;
          onBytes(bytes);
        },
      });
    } catch (error) {
      signal.throwIfAborted();
      failures = come > before ? 1 : failures + 1;
      if (!isRetryable(error) || failures >= ATTEMPTS) throw error;
      await sleep(retryDelayMs(error, failures, DELAYS), signal);
    }
  }
  await file.note(index);
}

/** Continues after the bytes that have come; `onBytes` receives the number of bytes written. */
async function fetchRest(file: PartialFile, range: ByteRange, download: Download): Promise<void> {
  const idle = new IdleTimeout(IDLE_TIMEOUT_MS);
  const signal = AbortSignal.any([download.signal, idle.signal]);
  let position = range.first;
  let pieces: Buffer[] = [];
  let size = 0;
  const flush = async () => {
    const bytes = Buffer.concat(pieces);
    [pieces, size] = [[], 0];
    await file.write(bytes, position);
    position += bytes.length;
    download.onBytes(bytes.length);
  };
  try {
    const response = await openRange(file, range, { ...download, signal });
    for await (const piece of incoming(response)) {
      idle.refresh();
      if (position + size + piece.length > range.last + 1) {
        throw external("the service sent more bytes than requested");
      }
      pieces.push(piece);
      size += piece.length;
      if (size >= WRITE_BYTES) await flush();
    }
  } catch (error) {
    // Bytes that have come are written, so that the next attempt does not request them again.
    await flush();
    throw error;
  } finally {
    idle.end();
  }
  await flush();
  if (position <= range.last) throw new ControlPlaneError("the response was incomplete");
}

/** An error of the connection may pass. */
async function* incoming(response: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* response;
  } catch (error) {
    throw new ControlPlaneError("the response was incomplete", { cause: error });
  }
}

async function openRange(file: PartialFile, range: ByteRange, { sources, signal }: Download) {
  const tried = new Set<FileSource>();
  for (;;) {
    // `sources` is read again each time, since another waiter may have joined.
    const source = [...sources].find((one) => !tried.has(one));
    if (!source) throw external("no longer needed");
    tried.add(source);
    try {
      return await requestRange(source, range, file.size, signal);
    } catch (error) {
      const isRefused = [401, 403].includes(statusOf(error) ?? 0);
      if (!isRefused || [...sources].every((one) => tried.has(one))) throw error;
    }
  }
}
