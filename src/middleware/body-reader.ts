/**
 * Reads the body of one request, within bounds that hold while its bytes come in: its length, how
 * fast it comes, what all bodies of this isolate hold together, and what is in it, which is counted
 * before anything parses it.
 */
import { fault, issueAt, malformedJson, ValidationFailure } from "../domain/schemas/validation.ts";
import { ProblemError } from "../errors.ts";
import { ByteBudget, NoRoom } from "../lib/byte-budget.ts";
import { FormScan } from "../lib/form-scan.ts";
import { type JsonBounds, JsonScan } from "../lib/json-scan.ts";

const MIB = 1024 * 1024;

export const MAX_BODY_BYTES = 10 * MIB;

/** Read in one: no more than a connection holds by itself. Most creates are so. */
const SMALL_BYTES = 16 * 1024;

/** Values: token arrays of embeddings are long. */
export const BODY_BOUNDS: JsonBounds = { depth: 128, values: 500_000 };

/** Those of a form that somebody fills in are tens. */
const MAX_FIELDS = 10_000;

/** An isolate has 128 MB for all that it does: with one of 10 MiB beside, it holds 24 MiB of bodies. */
const budget = new ByteBudget({
  shared: 14 * MIB,
  share: 10 * MIB,
  waiting: 16,
  patience_ms: 10_000,
});

const RETRY_SECONDS = 5;

/** In so long so much comes at least, or all that is left: 16 kB a second. */
const PACE_MS = 10_000;
const LEAST_PER_PACE = 160_000;

/** Who sends a body. */
export interface Sender {
  /** Their bodies are counted together. */
  owner: string;
  maxBytes: number;
  /** Of JSON. */
  bounds: JsonBounds;
}

export class BodyReader {
  readonly #request: Request;
  readonly #sender: Sender;
  readonly #held: { owner: string; bytes: number };
  #size = 0;

  constructor(request: Request, sender: Sender) {
    this.#request = request;
    this.#sender = sender;
    this.#held = { owner: sender.owner, bytes: 0 };
  }

  /** JSON, which is not parsed. @throws ProblemError, ValidationFailure */
  async text(): Promise<string> {
    // What is no UTF-8 would reach the model with other characters in it than were meant.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
    const { bounds } = this.#sender;
    const scan = new JsonScan(bounds);
    let text = "";
    for await (const chunk of this.#chunks()) {
      const passed = scan.feed(chunk);
      if (passed === "depth") throw tooDeep(bounds.depth);
      if (passed === "values") throw tooManyValues(bounds.values);
      text += decoded(() => decoder.decode(chunk, { stream: true }));
    }
    return text + decoded(() => decoder.decode());
  }

  /** A form. @throws ProblemError */
  async form(): Promise<ArrayBuffer> {
    const scan = new FormScan(MAX_FIELDS);
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#chunks()) {
      if (!scan.feed(chunk)) throw tooLarge(`A form may have ${MAX_FIELDS} fields.`);
      chunks.push(chunk);
    }
    return new Blob(chunks).arrayBuffer();
  }

  /** Once nothing is done with it any more. */
  release = (): void => budget.release(this.#held);

  async *#chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    this.#requirePlain();
    const said = this.#request.headers.get("content-length");
    if (Number(said) > this.#sender.maxBytes) throw this.#tooLarge();
    if (said !== null && Number(said) <= SMALL_BYTES) return yield this.#whole();
    const reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined =
      this.#request.body?.getReader();
    if (!reader) return;
    const pace = new Pace();
    let last = 0;
    try {
      for (;;) {
        const { done, value } = await Promise.race([reader.read().catch(brokenOff), pace.lost]);
        if (done) return;
        // What comes in one piece is handed on at once: only what is waited for is held.
        if (last > 0) await this.#hold(last, pace);
        last = value.byteLength;
        this.#size += last;
        if (this.#size > this.#sender.maxBytes) throw this.#tooLarge();
        pace.heard(last);
        yield value;
      }
    } finally {
      pace.end();
      await reader.cancel().catch(() => {});
    }
  }

  #requirePlain(): void {
    const encoding = this.#request.headers.get("content-encoding") ?? "identity";
    if (encoding === "identity") return;
    const detail = `Send the body uncompressed, not '${encoding.slice(0, 100)}'.`;
    throw new ProblemError("unsupported_media_type", detail);
  }

  async #whole(): Promise<Uint8Array<ArrayBuffer>> {
    const pace = new Pace();
    const reading = this.#request.arrayBuffer().catch(brokenOff);
    const bytes = await Promise.race([reading, pace.lost]).finally(() => pace.end());
    return new Uint8Array(bytes);
  }

  async #hold(bytes: number, pace: Pace): Promise<void> {
    // Of a request whose caller has gone nothing is carried out any more.
    if (this.#held.bytes === 0) this.#request.signal.addEventListener("abort", this.release);
    try {
      await pace.without(budget.take(this.#held, bytes));
    } catch (error) {
      throw error instanceof NoRoom ? busy() : error;
    }
  }

  #tooLarge(): ProblemError {
    const { maxBytes } = this.#sender;
    return tooLarge(
      maxBytes < MAX_BODY_BYTES
        ? `Without signing in a request body may have ${maxBytes} bytes.`
        : "A request body may have 10 MiB at most. Send files with POST /v1/uploads, or by address.",
    );
  }
}

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw malformedJson(new Error("JSON is UTF-8, which this is not"));
  }
}

/** Whether a body comes fast enough: what came fast once may not stop for that. */
class Pace {
  readonly #lost = Promise.withResolvers<never>();
  #timer = setTimeout(() => this.#look(), PACE_MS);
  #came = 0;
  #isOurs = false;
  #wasOurs = false;

  /** Fails once it does not. */
  get lost(): Promise<never> {
    return this.#lost.promise;
  }

  heard(bytes: number): void {
    this.#came += bytes;
  }

  /** That we wait is not their fault. */
  async without(waiting: Promise<void>): Promise<void> {
    this.#isOurs = true;
    await waiting;
    this.#isOurs = false;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    const isTheirs = !this.#isOurs && !this.#wasOurs;
    if (isTheirs && this.#came < LEAST_PER_PACE) this.#lost.reject(tooSlow());
    this.#wasOurs = this.#isOurs;
    this.#came = 0;
    this.#timer = setTimeout(() => this.#look(), PACE_MS);
  }
}

function tooDeep(levels: number): ValidationFailure {
  const ctx = { max_depth: levels };
  const said = fault("recursion_loop", ctx);
  const msg = `${said.msg}: ${levels} levels at most`;
  return new ValidationFailure([issueAt(["body"], { ...said, msg })]);
}

/** There is nobody to be told, and nothing for the log. */
function brokenOff(): never {
  throw new ProblemError("bad_request", "The body broke off before its end.");
}

const tooManyValues = (most: number) =>
  tooLarge(
    `A request body may have ${most.toLocaleString("en")} values at most. Send large data as a file.`,
  );

const tooLarge = (detail: string) => new ProblemError("too_large", detail);

const tooSlow = () =>
  new ProblemError(
    "request_timeout",
    `The body came too slowly: ${LEAST_PER_PACE / 1_000} kB in ${PACE_MS / 1_000} s are the least. Try again.`,
  );

const busy = () =>
  new ProblemError(
    "unavailable",
    `Too many large bodies come in at once. Try again in ${RETRY_SECONDS} seconds, with fewer at a time.`,
    { "retry-after": String(RETRY_SECONDS) },
  );
