/** Bytes on their way here: no more of them than allowed, and no silence without end. */
import { external, type Failure } from "../containers/failure.ts";

/** Ends what nothing comes from any more. */
export class IdleTimeout {
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly signal = this.#over.signal;

  constructor(milliseconds: number) {
    const over = () => this.#over.abort(new Error(`nothing came for ${milliseconds / 1_000} s`));
    this.#timer = setTimeout(over, milliseconds);
  }

  /** Something came. */
  readonly refresh = (): void => {
    this.#timer.refresh();
  };

  /** Nothing is waited for any more, and what is still open is let go of. */
  end(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }
}

export interface Transfer {
  body: AsyncIterable<Uint8Array>;
  /** Bytes. */
  maxBytes: number;
  /** Bytes, where it is known how many they are to be. */
  expected?: number;
  onBytes: () => void;
  /** What becomes of an error of the body. */
  toError: (error: unknown) => unknown;
}

/** @throws Failure for too many bytes; what `toError` makes of too few, or of a body's error. */
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
    throw toError(new Error(`${size} bytes came of ${expected}`));
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
  external(`the file is larger than the ${gigabytes(max)} GB that this runner takes`);

export const gigabytes = (bytes: number): number => Number((bytes / 1024 ** 3).toPrecision(3));
