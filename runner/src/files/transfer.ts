/** Limits on downloads: the size, and the time without a byte. */
import { external, type Failure } from "../../../src/run/failure.ts";

/** Aborts its signal when nothing has arrived for a while. */
export class IdleTimeout {
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly signal = this.#over.signal;

  constructor(milliseconds: number) {
    const over = () => this.#over.abort(new Error(`no data for ${milliseconds / 1_000} s`));
    this.#timer = setTimeout(over, milliseconds);
  }

  /** To be called when something has arrived. */
  readonly refresh = (): void => {
    this.#timer.refresh();
  };

  /** Stops the timer and aborts connections that are still open. */
  end(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }
}

export interface Transfer {
  body: AsyncIterable<Uint8Array>;
  maxBytes: number;
  /** Bytes, if known. */
  expected?: number;
  onBytes: () => void;
  /** Converts an error of the body. */
  toError: (error: unknown) => unknown;
}

/**
 * @throws Failure for too many bytes; the result of `toError` for too few, or for an error of the
 * body
 */
export async function* limitTransfer(transfer: Transfer): AsyncGenerator<Uint8Array> {
  const { body, maxBytes, expected, onBytes, toError } = transfer;
  let size = 0;
  for await (const chunk of translated(body, toError)) {
    size += chunk.length;
    onBytes();
    if (size > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
  if (expected !== undefined && size !== expected) {
    throw toError(new Error(`received ${size} of ${expected} bytes`));
  }
}

async function* translated(body: Transfer["body"], toError: Transfer["toError"]) {
  try {
    yield* body;
  } catch (error) {
    throw toError(error);
  }
}

export const tooLarge = (max: number): Failure =>
  external(`the file exceeds this runner's limit of ${gigabytes(max)} GB`);

export const gigabytes = (bytes: number): number => Number((bytes / 1024 ** 3).toPrecision(3));
