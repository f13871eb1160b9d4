/**
 * One request to an OpenAI-compatible server and its answer, which becomes outputs. Where servers
 * can stream, a stream is requested even if the caller wants a single value, and is combined here:
 * a server that does not stream does not notice that the client has disconnected.
 */
import { estimatedTokens } from "../../domain/anthropic/token-count.ts";
import { rankingOfTei, TEI_RERANK } from "../../domain/openai/moderations-rerank.ts";
import { base64Of } from "../../lib/buffer.ts";
import { fieldsOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import { internal } from "../failure.ts";
import { isImageCall } from "../run-reporter.ts";
import {
  AnswerReader,
  type LargeRead,
  type OnOutput,
  type Output,
  parseOrUndefined,
  readBounded,
  type ServerAnswer,
  type ServerRun,
} from "./answer.ts";
import { brokenServer, parseFailure, ServerFailure } from "./error.ts";
import { JoinedCompletions, severalPrompts } from "./prompts.ts";
import { PATHS, requestBody } from "./request.ts";
import { chatBody, inCallersTerms, isTranslated, teiBody, translated } from "./translation.ts";

/** The limit of an error response. */
const MAX_ERROR_BYTES = 1024 ** 2;

/** The calls that servers can stream. */
const STREAMED: OpenAiCall[] = ["chat_completions", "completions", "responses", "messages"];

/** Calls that have a file in a form, and may be answered in plain text. */
const FORMS: OpenAiCall[] = ["audio_transcriptions", "audio_translations"];

/** Content types of sound: all but those of errors and events. */
const SOUND = /^(?!application\/json|text\/)/i;

/** The statuses for an endpoint that the server does not have. */
const MISSING_STATUSES = [404, 405, 501];

const QUOTES = ["`", "'", '"'];

/** The statuses for requests that cannot be streamed: vLLM and llama.cpp, TGI, older llama.cpp. */
const REJECTED_STATUSES = [400, 422, 500];

/**
 * The statuses with which a server of one prompt at a time rejects a list: llama-cpp-python fails with 500.
 */
const LIST_STATUSES = [400, 422, 500, 501];

interface SentRequest {
  call: OpenAiCall;
  answer: ServerAnswer;
  /** The caller wants a single value. */
  whole: boolean;
  /** The error response, if it was already read. */
  refusal?: ServerFailure;
  /** Translates a single value into the answer of the call. */
  asCalled?: (value: Json) => Json;
}

/** The connection of one run to its server. */
export interface ExchangeParts {
  /** Posts once. @returns the head of the answer, however long that takes */
  post(
    call: OpenAiCall,
    path: string,
    body: Record<string, Json>,
    end: AbortSignal,
  ): Promise<ServerAnswer>;
  openLarge(answer: ServerAnswer, end: AbortSignal): LargeRead;
  /** The server's name for its model; undefined if it lists none and accepts any. */
  model: string | undefined;
  /** Whether an answer that is to be a single value is requested as a stream, and combined. */
  assembles: boolean;
  /** The calls that the server does not have, as runs have found. */
  missing: Set<OpenAiCall>;
  /** Returns the fields that the server's own responses have; undefined if it does not say. */
  responseFields(): Promise<Set<string> | undefined>;
  /** Returns why the server refuses a call without a key, or with it. @param answer the path and the status */
  keyRefused(answer: string): string;
}

export class OpenAiExchange {
  readonly #run: ServerRun;
  readonly #parts: ExchangeParts;
  readonly #onOutput: OnOutput;

  /** `onOutput` gets the outputs, and how they make up the whole. */
  constructor(run: ServerRun, parts: ExchangeParts, onOutput: OnOutput) {
    this.#run = run;
    this.#parts = parts;
    this.#onOutput = onOutput;
  }

  /**
   * Resolves when the answer is complete, with how its outputs make up the whole.
   * @throws Failure for an error response; any other error of the connection, or the reason of
   * `end`
   */
  async run(end: AbortSignal): Promise<Output> {
    const { call, input } = this.#run;
    const sent = await this.#request(end);
    if (!sent) return this.#estimate();
    try {
      return await this.#read(sent, end);
    } catch (error) {
      const { status } = sent.answer;
      const prompts = call === "completions" ? severalPrompts(input.prompt) : undefined;
      if (prompts && LIST_STATUSES.includes(status) && !isOverflow(error))
        return this.#oneByOne(prompts, end);
      const wasTranslated = sent.call !== call && error instanceof ServerFailure;
      throw wasTranslated && isTranslated(call) ? inCallersTerms(call, error, input) : error;
    }
  }

  /**
   * Sends one prompt at a time, for servers that take no list. Choices are numbered as those of a list are.
   */
  async #oneByOne(prompts: Json[], end: AbortSignal): Promise<Output> {
    const { input } = this.#run;
    const joined = new JoinedCompletions(typeof input.n === "number" ? input.n : 1);
    let kind: Output = "items";
    for (const [number, prompt] of prompts.entries()) {
      const sent = await this.#send("completions", { ...input, prompt }, end);
      kind = await this.#read(sent, end, (value, of) => {
        if (of === "items") this.#onOutput(joined.numbered(value, number), of);
        else joined.add(value, number);
      });
    }
    if (kind === "value") this.#onOutput(joined.whole, kind);
    return kind;
  }

  async #read(
    { call, answer, whole, refusal, asCalled }: SentRequest,
    end: AbortSignal,
    onOutput = this.#onOutput,
  ): Promise<Output> {
    if (refusal) throw refusal;
    const { status, type } = answer;
    if (status === 401 || status === 403) {
      answer.close();
      throw brokenServer(this.#parts.keyRefused(`${PATHS[call]} with ${status}`));
    }
    if (status >= 400) throw await readFailure(answer);
    const isStream = /^text\/event-stream\b/i.test(type);
    if (call === "audio_speech" && SOUND.test(type)) {
      await readSound(answer, (event) => onOutput(event, "items"));
      return "items";
    }
    const large = this.#parts.openLarge(answer, end);
    try {
      const reader = new AnswerReader(this.#run, answer, large, onOutput);
      if (!isStream && FORMS.includes(call)) return await reader.text();
      if (!isStream) return await reader.value(asCalled);
      return await (whole ? reader.whole(call) : reader.items(call));
    } finally {
      large.done();
    }
  }

  /** Returns undefined if the server does not have the call, and no other server can be asked. */
  async #request(end: AbortSignal): Promise<SentRequest | undefined> {
    const { call, input } = this.#run;
    if (call === null) throw internal("the job for an OpenAI-compatible container names no call");
    if (call === "responses") return this.#responses(input, end);
    const isOptional = isTranslated(call) || call === "rerank" || call === "count_tokens";
    if (!isOptional) return this.#send(call, input, end);
    const sent = await this.#sendIfServed(call, input, end);
    if (sent || call === "count_tokens") return sent;
    if (call === "rerank") return this.#sendToTei(input, end);
    return this.#send("chat_completions", chatBody(call, input), end);
  }

  /** Asks the server's own endpoint or, where that can do less, its chat completions. */
  async #responses(input: ServerRun["input"], end: AbortSignal): Promise<SentRequest> {
    const { responses: via = "own" } = this.#run;
    const viaChat = () => this.#send("chat_completions", chatBody("responses", input), end);
    if (via === "chat") return viaChat();
    if (via === "best" && !(await this.#ownResponsesDo(input))) {
      const body = expressed(() => chatBody("responses", input));
      const sent = body && (await this.#sendIfServed("chat_completions", body, end));
      if (sent) return sent;
    }
    return (await this.#sendIfServed("responses", input, end)) ?? viaChat();
  }

  /** Returns undefined if the server does not have the call. */
  async #sendIfServed(
    call: OpenAiCall,
    input: ServerRun["input"],
    end: AbortSignal,
  ): Promise<SentRequest | undefined> {
    if (this.#parts.missing.has(call)) return undefined;
    const sent = await this.#send(call, input, end);
    if (!MISSING_STATUSES.includes(sent.answer.status)) return sent;
    const failure = await readFailure(sent.answer);
    if (this.#isAboutModel(failure.error)) throw failure;
    this.#parts.missing.add(call);
    return undefined;
  }

  async #sendToTei(input: ServerRun["input"], end: AbortSignal): Promise<SentRequest> {
    const answer = await this.#parts.post("rerank", TEI_RERANK, teiBody(input), end);
    return { call: "rerank", answer, whole: false, asCalled: rankingOfTei };
  }

  #estimate(): Output {
    this.#onOutput({ input_tokens: estimatedTokens(this.#run.input) }, "value");
    return "value";
  }

  /** Requests a stream, unless the server cannot stream this request. */
  async #send(call: OpenAiCall, input: ServerRun["input"], end: AbortSignal): Promise<SentRequest> {
    if (isImageCall(call)) return this.#sendForImages(call, input, end);
    const isStream = input.stream === true || input.background === true;
    const whole = this.#parts.assembles && STREAMED.includes(call) && !isStream;
    if (!whole) return { call, whole, answer: await this.#post(call, input, end) };
    const answer = await this.#post(call, { ...input, stream: true }, end);
    if (!REJECTED_STATUSES.includes(answer.status)) return { call, whole, answer };
    const refusal = await readFailure(answer);
    if (!isAboutStream(refusal.error)) return { call, whole, answer, refusal };
    return { call, whole, answer: await this.#post(call, input, end) };
  }

  #post(call: OpenAiCall, input: ServerRun["input"], end: AbortSignal): Promise<ServerAnswer> {
    const body = translated(() => requestBody(call, input, this.#parts.model));
    return this.#parts.post(call, PATHS[call], body, end);
  }

  /** Asks for images in base64. Those models of OpenAI that know nothing else refuse to be asked for it. */
  async #sendForImages(
    call: OpenAiCall,
    input: ServerRun["input"],
    end: AbortSignal,
  ): Promise<SentRequest> {
    const answer = await this.#post(call, input, end);
    const sent = { call, whole: false, answer };
    if (answer.status !== 400) return sent;
    const refusal = await readFailure(answer);
    if (refusal.error.param !== "response_format") return { ...sent, refusal };
    const { response_format: _, ...body } = requestBody(call, input, this.#parts.model);
    return { ...sent, answer: await this.#parts.post(call, PATHS[call], body, end) };
  }

  /**
   * Whether the server's own endpoint reads all fields that the input has, by the server's description of
   * itself. llama.cpp has no description: it ignores `text.format`, and reports cut answers as `completed`.
   */
  async #ownResponsesDo(input: Record<string, Json>): Promise<boolean> {
    const fields = await this.#parts.responseFields();
    return fields !== undefined && ASKED.every((name) => !isAsked(input, name) || fields.has(name));
  }

  /** vLLM also responds with 404 for an unknown model. */
  #isAboutModel({ message, param, code }: { message: string; param: unknown; code: unknown }) {
    const { model = this.#run.input.model } = this.#parts;
    // The name counts only in quotes, since a model's name may be a common word, such as "v1".
    const isNamed =
      typeof model === "string" && QUOTES.some((q) => message.includes(q + model + q));
    return param === "model" || code === "model_not_found" || isNamed;
  }
}

/** Returns undefined if chat completions cannot express the request. */
function expressed(translate: () => ServerRun["input"]): ServerRun["input"] | undefined {
  try {
    return translate();
  } catch (error) {
    if (error instanceof ServerFailure) return undefined;
    throw error;
  }
}

const isOverflow = (error: unknown) =>
  error instanceof ServerFailure && error.error.code === "context_length_exceeded";

/** vLLM does not stream beam search; older versions of llama.cpp do not stream chats with tools. */
const isAboutStream = ({ message, param }: { message: string; param: string | null }) =>
  /\bstream/i.test(message) || param?.startsWith("stream") === true;

async function readFailure({ status, body }: ServerAnswer) {
  const text = (await readBounded(body, MAX_ERROR_BYTES)) ?? "";
  return parseFailure(parseOrUndefined(text), status, text);
}

/** Two pieces of MAX_BYTES fit into the log (MAX_INLINE_OUTPUT). */
const MAX_BYTES = 96 * 1024;

/** A content type with more than MAX_TYPE characters is no type of a sound. */
const MAX_TYPE = 200;

async function readSound(
  { type, body }: ServerAnswer,
  onOutput: (event: Record<string, Json>) => void,
): Promise<void> {
  let named: Record<string, Json> =
    type.length > 0 && type.length <= MAX_TYPE ? { content_type: type } : {};
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += MAX_BYTES) {
      const audio = base64Of(chunk.subarray(at, at + MAX_BYTES));
      onOutput({ type: "speech.audio.delta", audio, ...named });
      named = {};
    }
  }
}

/** Fields that change an answer, and that a server without them ignores. */
const ASKED = [
  ...["max_output_tokens", "reasoning", "temperature", "text", "tool_choice", "tools"],
  ...["top_logprobs", "top_p"],
];

function isAsked(input: Record<string, Json>, name: string): boolean {
  if (name !== "text") return input[name] !== undefined && input[name] !== null;
  const { type = "text" } = fieldsOf(fieldsOf(input.text).format);
  return type !== "text";
}
