/**
 * Reads a prediction's event stream to its end. If the stream breaks off, as when a deploy restarts
 * the object, it is resumed after the last event.
 */

import { createParser } from "eventsource-parser";
import { z } from "zod";
import type { LogEntry } from "../../domain/openai/translation.ts";
import { ProblemError } from "../../errors/errors.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import { parseExact } from "../../lib/exact-json.ts";
import type { Json } from "../../lib/json.ts";
import { exceededBound } from "../../lib/json-scan.ts";
import { backoffMs } from "../../lib/retry.ts";
import { type LeaveAction, type PredictionStub, renewed } from "../../objects/stubs/prediction.ts";
import { FRAME_BOUNDS, OUTPUT_BOUNDS } from "../../protocol/channel.ts";
import { type Prediction, prediction } from "../../protocol/prediction.ts";
import { openLog } from "../predictions/event-log.ts";
import type { Services } from "../services.ts";

/** The bounds of a full prediction, which has an output and an input. */
const BOUNDS = {
  depth: FRAME_BOUNDS.depth,
  values: OUTPUT_BOUNDS.values + FRAME_BOUNDS.values,
};

export interface NumberedEntry extends LogEntry {
  id: string;
  /** The characters of the entry's data. */
  size: number;
}

export type ParseLog = (data: string) => Json;

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Tries in a row without an event, and the pause before the first of them, which doubles. */
const MAX_TRIES = 5;
const RETRY = { baseMs: 100, maxMs: Number.POSITIVE_INFINITY };

export class LogReader {
  readonly #open: (after: number) => Promise<Reader | undefined>;
  #reader: Promise<Reader | undefined> | undefined;
  #read: ReturnType<typeof readerOfEvents>;
  readonly #parse: ParseLog;
  #pending: Promise<NumberedEntry[] | undefined> | undefined;
  /** The id of the last entry, and whether it was the end. */
  #last: number;
  #ended = false;
  #answeredBy: string | undefined;
  /** The error that ended reading early: further reads throw it. */
  #over: Error | undefined;
  #timer: number | null = null;

  /**
   * @param leave called when the reader leaves before the end
   * @param begun the stream from the first event on, if it is open already
   * @param parse exactLog where outputs are translated and written again
   * @param after the id of the entry before the first one
   */
  constructor(
    services: Services,
    stub: PredictionStub,
    id: string,
    leave?: LeaveAction,
    begun?: ReadableStream<Uint8Array> | null,
    parse: ParseLog = parsedLog,
    after = 0,
  ) {
    this.#last = after;
    const option = leave && { leave };
    this.#parse = parse;
    this.#read = readerOfEvents(parse);
    this.#open = async (after) =>
      (
        await openLog(services, renewed(services.env, stub), id, { after, ...option })
      ).body?.getReader();
    this.#reader = begun ? Promise.resolve(begun.getReader()) : undefined;
  }

  /**
   * Makes reads after this time throw the error. Promise.race is not used, since it would leak memory per
   * read.
   */
  expireAfter(seconds: number, error: Error): void {
    this.#timer = setTimeout(() => {
      this.#over = error;
      void this.cancel();
    }, seconds * 1_000);
  }

  /**
   * Returns the next entries, none for a heartbeat; undefined at the end. A second call waits for the same
   * entries.
   */
  peek(): Promise<NumberedEntry[] | undefined> {
    this.#pending ??= this.#fetch();
    return this.#pending;
  }

  /** Returns the next entries as `peek` does, and advances. */
  async next(): Promise<NumberedEntry[] | undefined> {
    const entries = await this.peek();
    this.#pending = undefined;
    return entries;
  }

  /**
   * The version that answers the call of a deployment, `owner/name:number`, as far as the log has been read from its
   * first entry. There is no other once there is output.
   */
  get answeredBy(): string | undefined {
    return this.#answeredBy;
  }

  async cancel(): Promise<void> {
    clearTimeout(this.#timer);
    this.#ended = true;
    const reader = await this.#reader?.catch(() => undefined);
    await reader?.cancel().catch(() => {});
  }

  async #fetch(): Promise<NumberedEntry[] | undefined> {
    for (let tries = 0; !this.#ended; tries++) {
      try {
        this.#reader ??= this.#open(this.#last);
        const reader = await this.#reader;
        const { done = true, value } = (await reader?.read()) ?? {};
        if (!done && value) return this.#took(this.#read(value));
      } catch (error) {
        const isFinal = error instanceof ProblemError || error instanceof OpenAiProblem;
        if (isFinal || tries === MAX_TRIES) throw error;
      }
      this.#reader = undefined;
      this.#read = readerOfEvents(this.#parse);
      if (tries === MAX_TRIES) break;
      await scheduler.wait(backoffMs(tries + 1, RETRY));
    }
    if (this.#over) throw this.#over;
    return undefined;
  }

  #took(entries: NumberedEntry[]): NumberedEntry[] {
    const last = entries.at(-1);
    if (last) this.#last = Number(last.id);
    for (const entry of entries) this.#answeredBy = answererIn(entry) ?? this.#answeredBy;
    if (last?.event === "done") {
      this.#ended = true;
      clearTimeout(this.#timer);
    }
    return entries;
  }
}

/** The first entry has the prediction, and one for each fallback has the version that answers from then on. */
const statusChange = z.object({
  fallback: z.string().optional(),
  prediction: prediction.pick({ model: true, deployment: true }).optional(),
});

function answererIn({ event, data }: NumberedEntry): string | undefined {
  if (event !== "status") return undefined;
  // Readers of Replicate's streams leave data as text, and have no use for the version.
  const { fallback, prediction } = statusChange.safeParse(data).data ?? {};
  return fallback ?? (prediction && answererOf(prediction));
}

/** Returns the version that has answered, `owner/name:number`, if a deployment was called. */
export const answererOf = ({ deployment, model }: Pick<Prediction, "deployment" | "model">) =>
  deployment === undefined ? undefined : `${model.owner}/${model.name}:${model.version_number}`;

function readerOfEvents(parse: ParseLog): (bytes: Uint8Array) => NumberedEntry[] {
  const decoder = new TextDecoder();
  const entries: NumberedEntry[] = [];
  const parser = createParser({
    onEvent: ({ id = "", event = "", data }) => {
      entries.push({ id, event, size: data.length, data: parse(data) });
    },
  });
  return (bytes) => {
    parser.feed(decoder.decode(bytes, { stream: true }));
    return entries.splice(0);
  };
}

/** @throws OpenAiProblem */
export function parsedLog(text: string, parse: (text: string) => Json = JSON.parse): Json {
  if (exceededBound(text, BOUNDS)) {
    const message = "The model's output has too many values or is nested too deeply.";
    throw new OpenAiProblem(502, { message, type: "server_error", code: "model_error" }, false);
  }
  return parse(text);
}

/**
 * Parses a value that is translated and written again, as chats are: numbers keep their digits.
 * @throws OpenAiProblem
 */
export const exactLog = (text: string): Json => parsedLog(text, parseExact);
