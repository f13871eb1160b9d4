/** Reads the answer of an OpenAI-compatible server: a stream or a single JSON value. */
import { MessageAssembler } from "../../domain/anthropic/message-native.ts";
import { dataUri } from "../../domain/files/data-uri.ts";
import { CHATS } from "../../domain/openai/chat.ts";
import { ChoicesAssembler } from "../../domain/openai/choice-stream.ts";
import { COMPLETIONS } from "../../domain/openai/completion.ts";
import { NativeResponseAssembler } from "../../domain/openai/response-native.ts";
import { type Assembler, TranslationFailed } from "../../domain/openai/translation.ts";
import { utf8Length } from "../../lib/buffer.ts";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import { oneLineJson, textFrom } from "../../lib/json-text.ts";
import type { Json } from "../../protocol/common.ts";
import type { Limits, OpenAiCall, ResponsesVia } from "../../protocol/runner.ts";
import { nonFiniteNumbers, nonFiniteText, parseBoundedJson } from "../bounded-json.ts";
import { external, Failure } from "../failure.ts";
import { isImageCall } from "../run-reporter.ts";
import { brokenServer, findFailure, NO_REASON_GIVEN, parseFailure } from "./error.ts";
import { joinedAnswers } from "./prompts.ts";
import { withModelName } from "./request.ts";
import { OpenAiStream } from "./stream.ts";

/** The answer of a server whose body has not been read. */
export interface ServerAnswer {
  status: number;
  /** The content type; empty if it has none. */
  type: string;
  /** Leaving a loop over it closes the connection. */
  body: AsyncIterable<Uint8Array>;
  close(reason?: Error): void;
}

/** Limits how many large answers are in memory. */
export interface LargeRead {
  /** To be called after every chunk with the size of the answer in memory, and waited for. */
  progress(size: number): Promise<void>;
  done(): void;
}

/** One run in a server. */
export interface ServerRun {
  id: string;
  /** The call whose request body the input is; null for the model's own input. */
  call: OpenAiCall | null;
  /** The way in which a responses call is made. */
  responses?: ResponsesVia | undefined;
  /** The model as callers know it: `owner/name`. */
  model: string;
  input: Record<string, Json>;
  limits: Pick<Limits, "output_bytes">;
  /** The bytes of the largest answer with images, which are not part of the output. */
  image_answer_bytes?: number;
}

/**
 * The body as text; undefined if it is larger than `max`, and then the connection is closed.
 * @param holds gets the number of bytes read so far and may delay reading more
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  max: number,
  holds?: (size: number) => Promise<void>,
): Promise<string | undefined> {
  const decoder = new TextDecoder();
  const texts: string[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > max) return undefined;
    texts.push(decoder.decode(chunk, { stream: true }));
    await holds?.(size);
  }
  return texts.join("") + decoder.decode();
}

export type Output = "items" | "value";

/** `json`: the text of the value, if it is known. */
export type OnOutput = (value: Json, kind: Output, json?: string) => void;

/** The statuses of a response that arrives as a single value. */
const TERMINAL_STATUSES: unknown[] = ["completed", "incomplete", "failed"];

export class AnswerReader {
  readonly #run: ServerRun;
  readonly #answer: ServerAnswer;
  readonly #large: LargeRead;
  readonly #onOutput: OnOutput;

  constructor(run: ServerRun, answer: ServerAnswer, large: LargeRead, onOutput: OnOutput) {
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
    const text = await readBounded(this.#answer.body, this.#maxBytes, (size) =>
      this.#large.progress(size),
    );
    this.#outputWhole(text ?? this.#tooLarge(), asCalled);
    return "value";
  }

  /** Reads a JSON object or plain text, which some servers write as a string of JSON. */
  async text(): Promise<Output> {
    const { output_bytes: maxBytes } = this.#run.limits;
    const read = await readBounded(this.#answer.body, maxBytes, (size) =>
      this.#large.progress(size),
    );
    const text = read ?? this.#tooLarge();
    const isJson = /^application\/json\b/i.test(this.#answer.type);
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
    const decoder = new TextDecoder();
    for await (const chunk of this.#answer.body) {
      const text = decoder.decode(chunk, { stream: true });
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
    return utf8Length(text) > this.#run.limits.output_bytes ? this.#tooLarge() : text;
  }

  #tooLarge(): never {
    throw external(`the container's response is larger than ${this.#maxBytes} bytes`);
  }

  get #maxBytes(): number {
    const { call, image_answer_bytes = MAX_ANSWER_BYTES, limits } = this.#run;
    return isImageCall(call) ? image_answer_bytes : limits.output_bytes;
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
