/** Translates a prediction's log into the events of a response, and into the response itself. */

import { type Fields, fieldsOf, isFields, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { PredictionWithIO } from "../../protocol/prediction.ts";
import { isTerminal } from "../predictions/status.ts";
import { chunksOf } from "./chat-chunks.ts";
import { type Ended, ended, endingOf, usageOf, usageOfMetrics } from "./response-ending.ts";
import { NativeReader } from "./response-native.ts";
import { ChunkReader, ResponseOutput } from "./response-output.ts";
import {
  type Resource,
  type ResponseHead,
  ResponseResource,
  type ResponseState,
} from "./response-resource.ts";
import { ToolNames } from "./tools.ts";
import {
  costIn,
  type LogEntry,
  limitOf,
  type Translation,
  TranslationFailed,
  valuesIn,
} from "./translation.ts";

export type StreamEvent = Fields & { type: string; sequence_number: number };

/**
 * The numbers of events per gap in the ids of the log: after each gap they continue from a multiple of this.
 * Events that were shown in the gap and lost (protocol/event.ts) had numbers, too, so a reader that has seen
 * them resumes by the same numbers as one that has not. It exceeds the events that 16 MB of output can
 * become, at three bytes each.
 */
const NUMBERS_PER_GAP = 10_000_000;

/**
 * The events of a response, numbered from 0. The last one is sent with the log's `done`, independent of
 * earlier events of the container. A canceled prediction has no last event.
 */
export class ResponseStream implements Translation {
  readonly #resource: ResponseResource;
  readonly #output: ResponseOutput;
  readonly #chunks: ChunkReader;
  readonly #native: NativeReader;
  readonly #limit: number | undefined;
  #state: Omit<ResponseState, "output">;
  #phase: "new" | "created" | "started" | "ended" = "new";
  #failure: string | null = null;
  #events: StreamEvent[] = [];
  #number = 0;
  #gaps = 0;
  #last = 0;

  constructor(head: ResponseHead) {
    this.#resource = new ResponseResource(head);
    const names = new ToolNames(head.request.tools);
    this.#output = new ResponseOutput(head.id, names, (type, fields) => this.#emit(type, fields));
    this.#chunks = new ChunkReader(this.#output);
    this.#native = new NativeReader(this.#output);
    this.#limit = limitOf(head.request);
    this.#state = {
      status: this.#resource.background ? "queued" : "in_progress",
      completed_at: null,
      usage: null,
      error: null,
      incomplete_details: null,
    };
  }

  resource(): Resource {
    const output = this.#output.value;
    return this.#resource.with({ ...this.#state, output }, this.#native.response);
  }

  /** @param id of an entry, where it has one: a gap in the ids is one in the numbers */
  take({ event, data }: LogEntry, id = this.#last + 1): StreamEvent[] {
    this.#events = [];
    if (id > this.#last + 1) this.#number = ++this.#gaps * NUMBERS_PER_GAP;
    this.#last = id;
    if (this.#phase === "ended") return [];
    if (this.#phase === "new") this.#create();
    if (event === "status" && fieldsOf(data).status === "started") this.#restart();
    if (event === "output") this.#put(data);
    if (event === "done") this.#end(ended.parse(data));
    return this.#events;
  }

  #create(): void {
    this.#phase = "created";
    this.#emit("response.created", { response: this.resource() });
    if (this.#state.status === "queued") {
      this.#emit("response.queued", { response: this.resource() });
    }
  }

  /** Notes a new start. After a gap it has a number even if it is not sent: one may be lost. */
  #restart(): void {
    if (this.#gaps > 0 && this.#phase === "started") this.#number++;
    this.#start();
  }

  /** Emits the start only once, although another attempt may follow a lost one. */
  #start(): void {
    if (this.#phase === "started") return;
    this.#phase = "started";
    this.#state.status = "in_progress";
    this.#emit("response.in_progress", { response: this.resource() });
  }

  #put(output: Json): void {
    this.#start();
    try {
      for (const one of valuesIn(output)) this.#read(one);
    } catch (error) {
      if (!(error instanceof TranslationFailed)) throw error;
      this.#failure = error.message;
    }
  }

  /** Reads an output. After a translation error no further event is sent. */
  #read(output: Json): void {
    if (this.#failure !== null) return;
    if (isFields(output) && textOf(output.type).startsWith("response.")) {
      this.#native.take(output);
    } else if (isFields(output) && output.object === "response") {
      this.#native.response = output;
    } else {
      for (const chunk of chunksOf(output)) this.#chunks.take(chunk);
    }
  }

  #end(ended: Ended): void {
    const { response } = this.#native;
    const { finishReason, usage } = this.#chunks;
    const [failure, limit] = [this.#failure, this.#limit];
    const ending = endingOf({ ended, failure, response, finishReason, limit });
    const { status } = ending;
    if (status === "completed" || status === "incomplete") this.#complete();
    this.#output.close(status === "completed" ? "completed" : "incomplete");
    this.#phase = "ended";
    this.#state = {
      ...ending,
      completed_at:
        status === "completed" ? Math.floor(Date.parse(ended.updated_at) / 1_000) : null,
      usage: {
        ...(usageOf(response, usage) ?? usageOfMetrics(ended.metrics)),
        ...costIn(ended.cost),
      },
    };
    // The number is moved after a gap: items that end here may have begun in the gap, unknown to a reader
    // that resumes.
    if (this.#gaps > 0) this.#number = (this.#gaps + 1) * NUMBERS_PER_GAP - 1;
    // The convention has no event for a cancel: the stream just ends.
    if (status === "cancelled") this.#events = [];
    else this.#emit(`response.${status}`, { response: this.resource() });
  }

  /** Completes the response. Without output it gets an empty message: clients expect an item. */
  #complete(): void {
    this.#start();
    this.#native.finish();
    if (this.#output.items.length === 0) this.#output.openText("message").beginPart("output_text");
  }

  #emit(type: string, fields: Fields): void {
    this.#events.push({ type, sequence_number: this.#number++, ...fields });
  }
}

type Outcome = Pick<PredictionWithIO, "status" | "output" | "metrics" | "error" | "updated_at"> &
  Partial<Pick<PredictionWithIO, "cost">>;

export function responseOf(head: ResponseHead, { output, ...prediction }: Outcome): Resource {
  const stream = new ResponseStream(head);
  if (prediction.status !== "pending") {
    stream.take({ event: "status", data: { status: "started" } });
  }
  if (output !== null) stream.take({ event: "output", data: output });
  if (isTerminal(prediction.status)) stream.take({ event: "done", data: prediction });
  return stream.resource();
}

export function preparedEvents(head: ResponseHead): StreamEvent[] {
  const resource = new ResponseResource(head);
  const state = { output: [], usage: null, error: null, incomplete_details: null };
  const [begun, ended] = [
    resource.with({ ...state, status: "in_progress", completed_at: null }, undefined),
    resource.with({ ...state, status: "completed", completed_at: head.created_at }, undefined),
  ];
  return [
    { type: "response.created", sequence_number: 0, response: begun },
    { type: "response.in_progress", sequence_number: 1, response: begun },
    { type: "response.completed", sequence_number: 2, response: ended },
  ];
}
