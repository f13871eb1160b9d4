/**
 * Reads a request body within limits that are enforced while it arrives: its length, its speed, the
 * memory that all bodies of this isolate hold together, and its values, counted before it is parsed.
 */
import { fault, issueAt, malformedJson, ValidationFailure } from "../domain/schemas/validation.ts";
import { ProblemError } from "../errors/errors.ts";
import { BudgetExceeded, ByteBudget, Held } from "../lib/byte-budget.ts";
import { type JsonBounds, JsonScan } from "../lib/json-scan.ts";
import { LEAST_SPEED, MinimumSpeed, PERIOD_MS } from "../lib/minimum-speed.ts";
import { settlesWithin } from "../lib/timeout.ts";

const MIB = 1024 * 1024;

export const MAX_BODY_BYTES = 10 * MIB;

/**
 * The largest body that is read in one piece: the connection buffers this much anyway, and most creates are
 * smaller.
 */
const SMALL_BYTES = 16 * 1024;

/** The bounds of JSON bodies. Token arrays of embeddings have many values. */
export const BODY_BOUNDS: JsonBounds = { depth: 128, values: 500_000 };

/** The fields of a form at most. A real form has tens. */
const MAX_FIELDS = 10_000;

/** The memory of bodies, of an isolate's 128 MB: 14 MiB together, and one more body of 10 MiB. */
const budget = new ByteBudget({
  shared: 14 * MIB,
  share: 10 * MIB,
  waiting: 16,
  patience_ms: 10_000,
});

/** The size from which decoding waits for its turn; smaller bodies cost others little. */
const LARGE_BYTES = 1024 * 1024;

/**
 * The memory of large bodies that are decoded and parsed at a time: each byte takes five bytes while text
 * that is not Latin-1 is parsed, and three until it is stored.
 */
const decodedBudget = new ByteBudget({
  shared: 4 * MIB,
  share: 4 * MIB,
  waiting: 16,
  patience_ms: 10_000,
});

const RETRY_SECONDS = 5;

export interface Sender {
  /** Bodies of the same owner share a budget. */
  owner: string;
  maxBytes: number;
  bounds: JsonBounds;
}

export class BodyReader {
  readonly #request: Request;
  readonly #sender: Sender;
  readonly #held: Held;
  readonly #decoded: Held;
  #size = 0;

  constructor(request: Request, sender: Sender) {
    this.#request = request;
    this.#sender = sender;
    this.#held = new Held(sender.owner);
    this.#decoded = new Held(sender.owner);
  }

  /** Reads the bytes of a JSON body, neither decoded nor parsed. @throws ProblemError, ValidationFailure */
  json(): Promise<Uint8Array<ArrayBuffer>> {
    const { bounds } = this.#sender;
    const scan = new JsonScan(bounds);
    return this.#all((chunk) => {
      const passed = scan.feed(chunk);
      if (passed === "depth") throw tooDeep(bounds.depth);
      if (passed === "values") throw tooManyValues(bounds.values);
    });
  }

  /** Reads the bytes of a form. @throws ProblemError */
  form(): Promise<Uint8Array<ArrayBuffer>> {
    const scan = new FormScan(MAX_FIELDS);
    return this.#all((chunk) => {
      if (!scan.feed(chunk)) throw tooLarge(`A form can have at most ${MAX_FIELDS} fields.`);
    });
  }

  /**
   * Returns the text to be parsed. Text takes several times the memory of its bytes, so few large bodies are
   * decoded at a time.
   * @throws ProblemError, ValidationFailure
   */
  async decode(pieces: (Uint8Array | string)[]): Promise<string> {
    const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (size > LARGE_BYTES) await this.#takeFrom(decodedBudget, this.#decoded, size);
    // Invalid UTF-8 would reach the model as replacement characters. A decoder that has failed may keep bytes,
    // which the next request must not get.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
    const textOf = (piece: Uint8Array | string) =>
      typeof piece === "string" ? piece : decoded(() => decoder.decode(piece));
    return pieces.map(textOf).join("");
  }

  /** Frees the memory that the body holds. */
  release = (): void => {
    budget.release(this.#held);
    decodedBudget.release(this.#decoded);
  };

  async #all(check: (chunk: Uint8Array) => void): Promise<Uint8Array<ArrayBuffer>> {
    requirePlain(this.#request);
    const length = this.#request.headers.get("content-length");
    if (Number(length) > this.#sender.maxBytes) throw this.#tooLarge();
    if (length !== null && Number(length) <= SMALL_BYTES) {
      const bytes = await this.#whole();
      check(bytes);
      return bytes;
    }
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    for await (const chunk of this.#chunks()) {
      check(chunk);
      chunks.push(chunk);
    }
    const [first] = chunks;
    if (chunks.length === 1 && first?.byteLength === first?.buffer.byteLength && first)
      return first;
    const all = new Uint8Array(this.#size);
    let at = 0;
    for (const chunk of chunks) {
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    return all;
  }

  async *#chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined =
      this.#request.body?.getReader();
    if (!reader) return;
    const speed = new MinimumSpeed(tooSlow);
    let last = 0;
    try {
      for (;;) {
        const { done, value } = await Promise.race([reader.read().catch(brokenOff), speed.tooSlow]);
        if (done) return;
        // A body of one chunk needs no budget: only chunks that wait for later ones are held.
        if (last > 0) await this.#hold(last, speed);
        last = value.byteLength;
        this.#size += last;
        if (this.#size > this.#sender.maxBytes) throw this.#tooLarge();
        speed.received(last);
        yield value;
      }
    } finally {
      speed.end();
      await reader.cancel().catch(() => {});
    }
  }

  async #whole(): Promise<Uint8Array<ArrayBuffer>> {
    const reading = this.#request.arrayBuffer().catch(brokenOff);
    if (!(await settlesWithin(reading, PERIOD_MS))) throw tooSlow();
    return new Uint8Array(await reading);
  }

  #hold(bytes: number, speed: MinimumSpeed): Promise<void> {
    return speed.excluding(this.#takeFrom(budget, this.#held, bytes));
  }

  async #takeFrom(from: ByteBudget, held: Held, bytes: number): Promise<void> {
    try {
      await from.take(held, bytes);
    } catch (error) {
      throw error instanceof BudgetExceeded ? busy() : error;
    }
  }

  #tooLarge(): ProblemError {
    const { maxBytes } = this.#sender;
    return tooLarge(
      maxBytes < MAX_BODY_BYTES
        ? `Without authentication, a request body can have at most ${maxBytes} bytes.`
        : "A request body can have at most 10 MiB. Send files with POST /v1/uploads, or by URL.",
    );
  }
}

export function requirePlain({ headers }: Request): void {
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding === "identity") return;
  const detail = `Send the body uncompressed, not '${encoding.slice(0, 100)}'.`;
  throw new ProblemError("unsupported_media_type", detail);
}

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw malformedJson(new Error("JSON must be UTF-8"));
  }
}

function tooDeep(levels: number): ValidationFailure {
  const ctx = { max_depth: levels };
  const issue = fault("recursion_loop", ctx);
  const msg = `${issue.msg}: ${levels} levels at most`;
  return new ValidationFailure([issueAt(["body"], { ...issue, msg })]);
}

/** Ends a request whose client left: nobody reads the error, and it is not logged. */
export function brokenOff(): never {
  throw new ProblemError("bad_request", "The connection closed before the whole body arrived.");
}

const tooManyValues = (most: number) =>
  tooLarge(
    `A request body can have at most ${most.toLocaleString("en")} values. Send large data as a file.`,
  );

export const tooLarge = (detail: string) => new ProblemError("too_large", detail);

export const tooSlow = () =>
  new ProblemError("request_timeout", `The body arrived too slowly: ${LEAST_SPEED} Try again.`);

export const busy = () =>
  new ProblemError(
    "unavailable",
    `Too many large request bodies at once. Try again in ${RETRY_SECONDS} seconds, with fewer requests at a time.`,
    { "retry-after": String(RETRY_SECONDS) },
  );

const AMPERSAND = 0x26;
const HYPHEN = 0x2d;
const LINE_FEED = 0x0a;

/** Limits the number of fields of a form while its bytes arrive. */
class FormScan {
  #left: number;
  #before = 0;

  constructor(fields: number) {
    this.#left = fields;
  }

  /**
   * Counts field separators of both encodings: `&`, and a line that starts with a hyphen.
   * @returns whether the form is still within the limit
   */
  feed(bytes: Uint8Array): boolean {
    let before = this.#before;
    for (const byte of bytes) {
      if (byte === AMPERSAND || (byte === HYPHEN && before === LINE_FEED)) this.#left -= 1;
      before = byte;
    }
    this.#before = before;
    return this.#left >= 0;
  }
}
