/**
 * Turns a server's event stream into outputs: the data of each event is one, verbatim except for
 * the model's name. Everything after the end marker is ignored.
 */

import { createParser } from "eventsource-parser";
import { parseExact } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import { nonFiniteNumbers, nonFiniteText, parseBoundedJson } from "../bounded-json.ts";
import { external, Failure } from "../failure.ts";
import { findFailure, NO_REASON_GIVEN, parseFailure } from "./error.ts";
import { withModelName } from "./request.ts";

const DONE = "[DONE]";
/** The events that end the stream of a call, and their meaning. Those of the others end with `[DONE]`. */
const ENDS: { [Call in OpenAiCall]?: Record<string, "succeeded" | "failed"> } = {
  responses: {
    "response.completed": "succeeded",
    "response.incomplete": "succeeded",
    "response.failed": "failed",
  },
  messages: { message_stop: "succeeded" },
  audio_speech: { "speech.audio.done": "succeeded" },
  audio_transcriptions: { "transcript.text.done": "succeeded" },
};
/** Calls whose stream some servers, such as vLLM, end with the marker alone. */
const MARKED: OpenAiCall[] = ["audio_speech", "audio_transcriptions"];
/** Events after which the connection may end: the server decides how many images there are. */
const IMAGES = ["image_generation.completed", "image_edit.completed"];
/** The type of events that only keep the connection open. */
const PING = "ping";

export interface StreamOptions {
  call: OpenAiCall;
  /** The limit of characters of one event. */
  maxChars: number;
  model: string;
  output: (value: Record<string, Json>) => void;
}

export class OpenAiStream {
  readonly #options: StreamOptions;
  readonly #parser;
  #pendingChars = 0;
  #end: "succeeded" | Failure | undefined;
  #mayEnd = false;

  constructor(options: StreamOptions) {
    this.#options = options;
    const { maxChars } = options;
    this.#parser = createParser({
      maxBufferSize: maxChars,
      onEvent: ({ data }) => {
        this.#pendingChars = 0;
        this.#take(data);
      },
      onError: ({ type }) => {
        if (type !== "max-buffer-size-exceeded") return;
        this.#close(external(`the container sent an event larger than ${maxChars} characters`));
      },
    });
  }

  /** How the stream ended; undefined until then. */
  get end(): "succeeded" | Failure | undefined {
    return this.#end;
  }

  /** To be called when the connection has ended. @returns how the stream ended; undefined if too early */
  close(): "succeeded" | Failure | undefined {
    if (this.#mayEnd) this.#close("succeeded");
    return this.#end;
  }

  /** Roughly how many characters of an incomplete event are buffered. */
  get pendingChars(): number {
    return this.#pendingChars;
  }

  feed(text: string): void {
    if (this.#end !== undefined) return;
    this.#pendingChars += text.length;
    this.#parser.feed(text);
  }

  #close(end: "succeeded" | Failure): void {
    this.#end ??= end;
  }

  #take(data: string): void {
    if (this.#end !== undefined || data === "") return;
    if (data.trim() === DONE) {
      // The marker alone means nothing in a call whose last event says how the stream ended.
      const { call } = this.#options;
      if (!ENDS[call] || MARKED.includes(call)) this.#close("succeeded");
      return;
    }
    const values = parse(data);
    if (values instanceof Failure) this.#close(values);
    else if (values) for (const value of values) this.#event(value);
    else {
      const found = nonFiniteNumbers(data);
      const problem = `the container sent an event that is not a JSON object: ${head(data)}`;
      this.#close(external(found ? nonFiniteText(found) : problem));
    }
  }

  #event(value: Record<string, Json>): void {
    if (this.#end !== undefined || value.type === PING) return;
    const failure = findFailure(value);
    if (failure) return this.#close(failure);
    this.#options.output(withModelName(value, this.#options.model));
    this.#mayEnd ||= IMAGES.includes(String(value.type));
    const end = ENDS[this.#options.call]?.[String(value.type)];
    if (end === "succeeded") this.#close(end);
    if (end === "failed") this.#close(parseFailure(value.response, 500, NO_REASON_GIVEN));
  }
}

/** Some servers put the chunks of several prompts into one event, as a list. */
function parse(data: string): Record<string, Json>[] | Failure | undefined {
  try {
    const values = [parseBoundedJson(data, parseExact)].flat();
    return values.every((value) => isObject(value)) ? values : undefined;
  } catch (error) {
    return error instanceof Failure ? error : undefined;
  }
}

const head = (text: string) => text.slice(0, 200);
