/** One request to a vendora server and its answer, which becomes outputs. */
import type { IncomingMessage } from "node:http";
import type { Json } from "../../../src/protocol/common.ts";
import type { VendoraCall } from "../../../src/protocol/runner.ts";
import { external, internal } from "../containers/failure.ts";
import { isObject } from "../json-object.ts";
import { keyDemanded } from "./advice.ts";
import { readBounded } from "./http.ts";
import type { Run } from "./interface.ts";
import type { LargeRead } from "./large-reads.ts";
import type { VendoraParts } from "./vendora.ts";
import { broken, failureIn, failureOf, ServerFailure, SILENT } from "./vendora-error.ts";
import { asAsked, bodyOf, chatInput, named, PATHS } from "./vendora-request.ts";
import { VendoraStream } from "./vendora-stream.ts";

/** Of the answer to a request that failed. */
const MAX_ERROR = 1024 ** 2;

/** What a server says of an endpoint that it does not have. */
const LACKS = [404, 405, 501];

/** What a response may be that comes in one piece. */
const ENDED: unknown[] = ["completed", "incomplete", "failed"];

const QUOTES = ["`", "'", '"'];

export type Output = "items" | "value";

export class VendoraExchange {
  readonly #run: Run;
  readonly #parts: VendoraParts;
  readonly #put: (value: Json, as: Output) => void;

  /** `put` is given the outputs, and in what way they make up the whole. */
  constructor(run: Run, parts: VendoraParts, put: (value: Json, as: Output) => void) {
    this.#run = run;
    this.#parts = parts;
    this.#put = put;
  }

  /**
   * Resolves when the server has said all, and with how its outputs make up the whole.
   * @throws Failure for what it said instead; whatever else the connection ended with, also `end`
   */
  async through(end: AbortSignal): Promise<Output> {
    const { call, answer } = await this.#ask(end);
    try {
      return await this.#read(call, answer, end);
    } catch (error) {
      const translated = call !== this.#run.call && error instanceof ServerFailure;
      throw translated ? asAsked(error, this.#run.input) : error;
    }
  }

  async #read(call: VendoraCall, answer: IncomingMessage, end: AbortSignal): Promise<Output> {
    const status = answer.statusCode ?? 0;
    if (status === 401 || status === 403) {
      answer.destroy();
      throw broken(keyDemanded(`${PATHS[call]} with ${status}`).message);
    }
    if (status >= 400) throw await errorOf(answer);
    const isStream = /^text\/event-stream\b/i.test(answer.headers["content-type"] ?? "");
    const large = this.#parts.large.of(answer, end);
    try {
      return await (isStream
        ? this.#readStream(answer, large, call)
        : this.#readValue(answer, large));
    } finally {
      large.done();
    }
  }

  async #ask(end: AbortSignal): Promise<{ call: VendoraCall; answer: IncomingMessage }> {
    const { call, input } = this.#run;
    if (call === null) throw internal("the job does not say what it asks of a vendora container");
    if (call !== "responses") return this.#send(call, input, end);
    if (!this.#parts.chatOnly) {
      const asked = await this.#send(call, input, end);
      if (!LACKS.includes(asked.answer.statusCode ?? 0)) return asked;
      const failure = await errorOf(asked.answer);
      if (this.#isAboutModel(failure.error)) throw failure;
      this.#parts.chatOnly = true;
    }
    return this.#send("chat_completions", chatInput(input), end);
  }

  async #send(call: VendoraCall, input: Run["input"], end: AbortSignal) {
    const { client, model } = this.#parts;
    const body = JSON.stringify(bodyOf(call, input, model));
    return { call, answer: await client.stream(PATHS[call], body, end) };
  }

  /** vLLM answers 404 as well where it does not know the model. */
  #isAboutModel({ message, param, code }: { message: string; param: unknown; code: unknown }) {
    const { model = this.#run.input.model } = this.#parts;
    // In quotes: alone it may be a word like any other, as "v1" is.
    const said = typeof model === "string" && QUOTES.some((q) => message.includes(q + model + q));
    return param === "model" || code === "model_not_found" || said;
  }

  async #readStream(answer: IncomingMessage, large: LargeRead, call: VendoraCall): Promise<Output> {
    const { limits, model } = this.#run;
    const stream = new VendoraStream({
      response: call === "responses",
      max: limits.output_bytes,
      model,
      output: (value) => this.#put(value, "items"),
    });
    // Decodes characters that come in two pieces.
    answer.setEncoding("utf8");
    for await (const text of answer as AsyncIterable<string>) {
      stream.feed(text);
      if (stream.end !== undefined) break;
      await large.holds(stream.held);
    }
    if (stream.end === undefined) throw new Error("its stream has no end");
    if (stream.end !== "succeeded") throw stream.end;
    return "items";
  }

  async #readValue(answer: IncomingMessage, large: LargeRead): Promise<Output> {
    const { limits, model } = this.#run;
    const text = await readBounded(answer, limits.output_bytes, (size) => large.holds(size));
    if (text === undefined) {
      throw external(`the container's answer is larger than ${limits.output_bytes} bytes`);
    }
    const value = parsed(text);
    if (!isObject(value)) throw broken(`the container answered ${text.slice(0, 200)}`);
    const isResponse = value.object === "response";
    const failure = isResponse ? undefined : failureIn(value);
    if (failure) throw failure;
    const status = isResponse ? (value.status ?? "completed") : "completed";
    // Nobody will say what becomes of it: it was to be done when it was answered.
    if (!ENDED.includes(status)) {
      throw broken(
        `the container answered with a response that is '${String(status).slice(0, 50)}'`,
      );
    }
    this.#put(named(value, model), "value");
    if (status === "failed") throw failureOf(value, 500, SILENT);
    return "value";
  }
}

async function errorOf(answer: IncomingMessage) {
  const text = (await readBounded(answer, MAX_ERROR)) ?? "";
  return failureOf(parsed(text), answer.statusCode ?? 0, text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
