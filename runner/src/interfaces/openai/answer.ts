/** Reads the answer of an OpenAI-compatible server: a stream or a single JSON value. */
import type { IncomingMessage } from "node:http";
import { MessageAssembler } from "../../../../src/domain/anthropic/message-native.ts";
import { dataUri } from "../../../../src/domain/files/data-uri.ts";
import { CHATS } from "../../../../src/domain/openai/chat.ts";
import { ChoicesAssembler } from "../../../../src/domain/openai/choice-stream.ts";
import { COMPLETIONS } from "../../../../src/domain/openai/completion.ts";
import { NativeResponseAssembler } from "../../../../src/domain/openai/response-native.ts";
import { type Assembler, TranslationFailed } from "../../../../src/domain/openai/translation.ts";
import { exactText, parseExact } from "../../../../src/lib/exact-json.ts";
import { isObject } from "../../../../src/lib/json.ts";
import { oneLineJson, textFrom } from "../../../../src/lib/json-text.ts";
import type { Json } from "../../../../src/protocol/common.ts";
import type { OpenAiCall } from "../../../../src/protocol/runner.ts";
import { isImageCall } from "../../jobs/executor.ts";
import { external, Failure } from "../../lib/failure.ts";
import { readBounded } from "../container-client.ts";
import { nonFiniteNumbers, nonFiniteText, parseBoundedJson } from "../container-json.ts";
import type { Run } from "../interface.ts";
import type { LargeRead } from "../large-reads.ts";
import { brokenServer, findFailure, NO_REASON_GIVEN, parseFailure } from "./error.ts";
import { joinedAnswers } from "./prompts.ts";
import { withModelName } from "./request.ts";
import { OpenAiStream } from "./stream.ts";

export type Output = "items" | "value";

/** `json`: the text of the value, if it is known. */
export type OnOutput = (value: Json, kind: Output, json?: string) => void;

/** The statuses of a response that arrives as a single value. */
const TERMINAL_STATUSES: unknown[] = ["completed", "incomplete", "failed"];

export class AnswerReader {
  readonly #run: Run;
  readonly #answer: IncomingMessage;
  readonly #large: LargeRead;
  readonly #onOutput: OnOutput;

  constructor(run: Run, answer: IncomingMessage, large: LargeRead, onOutput: OnOutput) {
    this.#run = run;
    this.#answer = answer;
    this.#large = large;
    this.#onOutput = onOutput;
  }

  /** Reads a stream; each event is an output. */
  async items(call: OpenAiCall): Promise<Output> {
    const end = await this.#stream(call, (event) => this.#onOutput(event, "items"));
    if (end !== "succeeded") throw end;
    return "items";
  }

  /** Reads a stream and combines it into one output. */
  async whole(call: OpenAiCall): Promise<Output> {
    const whole = this.#assembler(call);
    const text = () => this.#bounded(exactText(translated(() => whole.value) ?? null));
    let unchecked = 0;
    const end = await this.#stream(
      call,
      (event) => translated(() => whole.take(event)),
      (length) => {
        // Check the size once per `output_bytes` read, so that the work stays proportional to the
        // input: most of a chunk is wrapping that is not kept.
        unchecked += length;
        if (unchecked <= this.#run.limits.output_bytes) return;
        unchecked = 0;
        text();
      },
    );
    const isFailedResponse =
      end !== "succeeded" && isObject(whole.value) && whole.value.status === "failed";
    if (end === "succeeded" || isFailedResponse) this.#outputWhole(text());
    if (end !== "succeeded") throw end;
    return "value";
  }

  #assembler(call: OpenAiCall): Assembler {
    const id = this.#run.id.replaceAll("-", "");
    if (call === "responses") return new NativeResponseAssembler();
    if (call === "messages") return new MessageAssembler(`msg_${id}`);
    if (call === "completions") return new ChoicesAssembler(COMPLETIONS, "");
    return new ChoicesAssembler(CHATS, `call_${id.slice(0, 16)}`);
  }

  /** Reads a single JSON value. @param asCalled translates it into the answer of the call */
  async value(asCalled?: (value: Json) => Json): Promise<Output> {
    const text = await readBounded(this.#answer, this.#maxBytes, (size) =>
      this.#large.progress(size),
    );
    this.#outputWhole(text ?? this.#tooLarge(), asCalled);
    return "value";
  }

  /** Reads a JSON object or plain text, which some servers write as a string of JSON. */
  async text(): Promise<Output> {
    const { output_bytes: maxBytes } = this.#run.limits;
    const read = await readBounded(this.#answer, maxBytes, (size) => this.#large.progress(size));
    const text = read ?? this.#tooLarge();
    const isJson = /^application\/json\b/i.test(this.#answer.headers["content-type"] ?? "");
    const value = isJson ? parseOrUndefined(text) : text;
    if (typeof value !== "string") this.#outputWhole(text);
    else this.#onOutput(this.#bounded(value), "value");
    return "value";
  }

  async #stream(
    call: OpenAiCall,
    output: (event: Record<string, Json>) => void,
    onFed?: (length: number) => void,
  ): Promise<"succeeded" | Failure> {
    const { model } = this.#run;
    const withoutBase64 = (event: Record<string, Json>) => output(withFiles(event));
    const stream = new OpenAiStream({
      ...{ call, maxChars: this.#maxBytes, model },
      output: isImageCall(call) ? withoutBase64 : output,
    });
    // Decodes characters that are split between chunks.
    this.#answer.setEncoding("utf8");
    for await (const text of this.#answer as AsyncIterable<string>) {
      stream.feed(text);
      onFed?.(text.length);
      if (stream.end !== undefined) break;
      await this.#large.progress(stream.pendingChars);
    }
    const end = stream.close();
    if (end === undefined) throw new Error("the stream ended early");
    return end;
  }

  #outputWhole(text: string, asCalled?: (value: Json) => Json): void {
    // The answer is passed on as it was written: embeddings may have a million numbers.
    const isPassedOn = !asCalled && !/^\s*\[/.test(text);
    const parsed = joinedAnswers(parseOrUndefined(text, isPassedOn ? undefined : parseExact));
    const value = parsed !== undefined && asCalled ? asCalled(parsed) : parsed;
    if (!isObject(value)) {
      const found = parsed === undefined ? nonFiniteNumbers(text) : undefined;
      if (found) throw external(nonFiniteText(found));
      throw brokenServer(`the container responded with ${text.slice(0, 200)}`);
    }
    const isResponse = value.object === "response";
    const failure = isResponse ? undefined : findFailure(value);
    if (failure) throw failure;
    const status = isResponse ? (value.status ?? "completed") : "completed";
    // An unfinished response is an error, since the runner cannot follow it.
    if (!TERMINAL_STATUSES.includes(status)) {
      throw brokenServer(
        `the container returned a response with the status '${String(status).slice(0, 50)}'`,
      );
    }
    const source = !isPassedOn ? undefined : { value: { ...value }, text: oneLineJson(text) };
    const named = withModelName(value, this.#run.model);
    const output = isImageCall(this.#run.call) ? withFiles(named) : named;
    this.#onOutput(output, "value", source && textFrom(output, source));
    if (status === "failed") throw parseFailure(value, 500, NO_REASON_GIVEN);
  }

  #bounded(text: string): string {
    return Buffer.byteLength(text) > this.#run.limits.output_bytes ? this.#tooLarge() : text;
  }

  #tooLarge(): never {
    throw external(`the container's response is larger than ${this.#maxBytes} bytes`);
  }

  get #maxBytes(): number {
    return isImageCall(this.#run.call) ? MAX_ANSWER_BYTES : this.#run.limits.output_bytes;
  }
}

function translated<Result>(translate: () => Result): Result {
  try {
    return translate();
  } catch (error) {
    throw error instanceof TranslationFailed ? brokenServer(error.message) : error;
  }
}

export function parseOrUndefined(text: string, parse?: (text: string) => Json): Json | undefined {
  try {
    return parseBoundedJson(text, parse);
  } catch (error) {
    if (error instanceof Failure) throw error;
    return undefined;
  }
}

/** The largest answer with images in base64, which is more than an output may have inline. */
const MAX_ANSWER_BYTES = 64 * 1024 ** 2;

/** How the base64 of a format begins. */
const BEGINNINGS = { iVBORw0KGgo: "png", "/9j/": "jpeg", UklGR: "webp", R0lGOD: "gif" };

/** An answer, or an event of a stream, with a data URI as `url` in place of `b64_json`. */
function withFiles(answer: Record<string, Json>): Record<string, Json> {
  const { data, ...rest } = answer;
  const file = fileOf(rest);
  return Array.isArray(data)
    ? { ...file, data: data.map((one) => (isObject(one) ? fileOf(one) : one)) }
    : data === undefined
      ? file
      : { ...file, data };
}

function fileOf(image: Record<string, Json>): Record<string, Json> {
  const { b64_json, ...rest } = image;
  if (typeof b64_json !== "string") return rest;
  const type = Object.entries(BEGINNINGS).find(([beginning]) =>
    b64_json.startsWith(beginning),
  )?.[1];
  return type === undefined ? rest : { ...rest, url: dataUri(`image/${type}`, b64_json) };
}
