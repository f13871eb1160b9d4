/**
 * What one run puts out, in its order: a value whose files are on their way holds back those after
 * it. After a value that cannot be had nothing follows, so that no list has a hole.
 */
import type { Finish } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import {
  MAX_INLINE_OUTPUT,
  type Metrics,
  type SetupProgress,
  type StoredValue,
} from "../../../src/protocol/event.ts";
import { asFailure, external, type Failure, failed, internal } from "../containers/failure.ts";
import type { Keep } from "../interfaces/report.ts";
import type { Sink } from "../jobs/executor.ts";
import type { Log } from "../lib/log.ts";
import type { RunFiles } from "./output-server.ts";
import { nameOf } from "./outputs-data.ts";
import { type Draft, draftOf, filled, Pending } from "./outputs-draft.ts";
import type { References } from "./outputs-references.ts";
import type { OutputStore } from "./store.ts";

/** Bytes that JSON makes of one UTF-16 unit, at most (`\u0000`), and the quotes. */
const JSON_GROWTH = 6;
const QUOTES = 2;

export interface StoredOutput extends Sink {
  /** Takes a file before the output that has it; absent where no text stands for one. */
  readonly keep: Keep | undefined;
  /** Waits until all is stored. A file that could not be makes of a success a failure. */
  settle(finish: Finish): Promise<Finish>;
  close(): Promise<void>;
}

export interface OutputQueueOptions {
  files: RunFiles;
  /** Absent: no text stands for a file. */
  references: References | undefined;
  store: OutputStore;
  sink: Sink;
  stop: AbortSignal;
  /** Aborted once something cannot be had: the rest is of no use. */
  over: AbortController;
  log: Log;
}

type Delivery = () => void;

export class OutputQueue implements StoredOutput {
  readonly #options: OutputQueueOptions;
  readonly #queue: Promise<Delivery>[] = [];
  #draining: Promise<void> | undefined;
  #delivered = 0;
  #failure: Failure | undefined;

  constructor(options: OutputQueueOptions) {
    this.#options = options;
  }

  get keep(): Keep | undefined {
    const { files, references } = this.#options;
    return references && ((content, type) => files.place(content, nameOf(type), type));
  }

  setup(progress: SetupProgress): void {
    this.#options.sink.setup(progress);
  }

  logs(text: string): void {
    this.#options.sink.logs(text);
  }

  metrics(metrics: Metrics): void {
    this.#options.sink.metrics(metrics);
  }

  /** At once, where there is nothing to wait for: most outputs are short texts. */
  output(said: Json): void {
    if (this.#failure) return;
    try {
      const { draft, pending } = this.#draft(said);
      const ready = !this.#draining && pending.length === 0;
      const value = ready ? (draft === said ? said : filled(draft, new Map())) : undefined;
      if (value === undefined || isLarge(value)) {
        this.#push(this.#prepare(draft, pending));
      } else {
        this.#options.sink.output(value);
        this.#delivered += 1;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  reserve(bytes: number): boolean {
    return this.#options.sink.reserve(bytes);
  }

  prepared(json: string): void {
    this.#options.sink.prepared(json);
  }

  stored(value: StoredValue): void {
    this.#options.sink.stored(value);
  }

  async settle(finish: Finish): Promise<Finish> {
    const { files, stop, log } = this.#options;
    await this.#draining;
    const output = this.#failure ? this.#partOf(finish.output) : finish.output;
    if (finish.status !== "succeeded") return { ...finish, output };
    await files.settle();
    const failure = files.failure ?? this.#failure;
    if (!failure) return finish;
    if (stop.aborted) return { ...finish, status: "canceled", output };
    log.warn("an output is not complete", { prediction: files.id, error: failure.message });
    return { ...finish, ...failed(failure, output) };
  }

  close(): Promise<void> {
    return this.#options.files.end();
  }

  #draft(said: Json): { draft: Draft; pending: Pending[] } {
    const { references } = this.#options;
    const pending: Pending[] = [];
    if (!references) return { draft: said, pending };
    const draft = draftOf(said, (text) => {
      const one = references.recognise(text);
      if (one instanceof Pending) pending.push(one);
      return one;
    });
    return { draft, pending };
  }

  #push(delivery: Promise<Delivery>): void {
    // Its turn to be looked at may come later than its failure.
    delivery.catch(() => {});
    this.#queue.push(delivery);
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      try {
        const deliver = await next;
        if (this.#failure) continue;
        deliver();
        this.#delivered += 1;
      } catch (error) {
        this.#fail(error);
      }
    }
    this.#draining = undefined;
  }

  /** As JSON, with room taken for it: who waits behind a slow store keeps within the limit too. */
  async #prepare(draft: Draft, pending: Pending[]): Promise<Delivery> {
    const { sink } = this.#options;
    const found = pending.map(async (one) => [one, await one.address] as const);
    const json = JSON.stringify(filled(draft, new Map(await Promise.all(found))));
    const size = Buffer.byteLength(json);
    if (!sink.reserve(size)) throw external("the output is larger than its limit");
    // Not awaited here: the values, twenty times as large as their JSON, are not kept for that long.
    return size > MAX_INLINE_OUTPUT ? this.#store(json, size) : () => sink.prepared(json);
  }

  async #store(json: string, size: number): Promise<Delivery> {
    const { sink, store } = this.#options;
    const name = await store.value(json);
    return () => sink.stored({ name, size });
  }

  #fail(error: unknown): void {
    if (this.#failure) return;
    const { stop, over, log } = this.#options;
    this.#failure = stop.aborted ? internal("stopped") : asFailure(error, log);
    over.abort();
  }

  /** How what has been delivered makes up the output. */
  #partOf(whole: Finish["output"]): Finish["output"] {
    return whole === "items" && this.#delivered > 0 ? "items" : "none";
  }
}

/** Whether its JSON is too long for the log. */
function isLarge(value: Json): boolean {
  if (typeof value === "string" && value.length * JSON_GROWTH + QUOTES <= MAX_INLINE_OUTPUT) {
    return false;
  }
  return Buffer.byteLength(JSON.stringify(value)) > MAX_INLINE_OUTPUT;
}
