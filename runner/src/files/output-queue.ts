/**
 * The outputs of one run, in order: a value whose files are being stored holds back the values after it. No
 * value follows a failed one, so that no list has a gap.
 */

import { madeName } from "../../../src/domain/files/media-types.ts";
import { exactText } from "../../../src/lib/exact-json.ts";
import { isObject } from "../../../src/lib/json.ts";
import { type JsonSource, textFrom } from "../../../src/lib/json-text.ts";
import type { Finish } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { MAX_INLINE_OUTPUT } from "../../../src/protocol/event.ts";
import { external, type Failure, failedFinish, internal } from "../../../src/run/failure.ts";
import { PassingReporter, type RunReporter } from "../../../src/run/run-reporter.ts";
import { asFailure } from "../lib/failure.ts";
import type { Log } from "../lib/log.ts";
import { OfRun } from "../lib/log-ring.ts";
import {
  createDraft,
  type Draft,
  fillDraft,
  Pending,
  type References,
  type StoredFile,
} from "./output-references.ts";
import type { RunFiles } from "./output-server.ts";
import type { OutputStore } from "./output-store.ts";

/** The most bytes for one UTF-16 unit. */
const UTF8_GROWTH = 3;

/** Stores a file. @returns the URL that replaces it in the report */
export type SaveFile = (content: AsyncIterable<Uint8Array>, mimeType: string) => Promise<string>;

export interface StoredOutput extends RunReporter {
  /** Stores a file before the output that names it; undefined if no text stands for a file. */
  readonly saveFile: SaveFile | undefined;
  /**
   * Waits until everything is stored. A file that could not be stored turns a success into a
   * failure.
   */
  settle(finish: Finish): Promise<Finish>;
  close(): Promise<void>;
}

export interface OutputQueueOptions {
  files: RunFiles;
  /** Undefined if no text stands for a file. */
  references: References | undefined;
  store: OutputStore;
  reporter: RunReporter;
  stop: AbortSignal;
  /** Aborted on the first failure, after which the rest is useless. */
  failed: AbortController;
  log: Log;
}

type Delivery = () => void;

export class OutputQueue extends PassingReporter implements StoredOutput {
  readonly #options: OutputQueueOptions;
  readonly #queue: Promise<Delivery>[] = [];
  #draining: Promise<void> | undefined;
  #delivered = 0;
  /** The files of the output: one that is named twice counts once. */
  readonly #made = new Map<Pending, StoredFile>();
  #failure: Failure | undefined;

  constructor(options: OutputQueueOptions) {
    super(options.reporter);
    this.#options = options;
  }

  get saveFile(): SaveFile | undefined {
    const { files, references } = this.#options;
    return (
      references && ((content, type) => files.addReported(content, madeName("output", type), type))
    );
  }

  /** A value is reported at once if it need not wait: most outputs are short texts. */
  override output(value: Json, json = exactText(value)): void {
    if (this.#failure) return;
    try {
      const { draft, pending } = this.#draft(value);
      const source = { value, text: json };
      const ready = !this.#draining && pending.length === 0;
      const settled = ready ? (draft === value ? value : fillDraft(draft, new Map())) : undefined;
      const text = settled === undefined ? undefined : textFrom(settled, source);
      if (settled === undefined || text === undefined || isLarge(text)) {
        this.#push(this.#prepare(draft, pending, source));
      } else {
        this.reporter.output(settled, text);
        this.#delivered += 1;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  async settle(finish: Finish): Promise<Finish> {
    const { files, stop, log } = this.#options;
    await this.#draining;
    this.#count();
    const output = this.#failure ? this.#deliveredPart(finish.output) : finish.output;
    // A model that fails because this machine did not take its file says so in its own words.
    const isOurs = finish.status === "failed" && files.failure?.source === "internal";
    if (finish.status !== "succeeded" && !isOurs) return { ...finish, output };
    await files.settle();
    const failure = files.failure ?? this.#failure;
    if (!failure) return finish;
    if (stop.aborted) return { ...finish, status: "canceled", output };
    log.warn("incomplete output", {
      prediction: files.id,
      error: new OfRun(failure.message),
    });
    return { ...finish, ...failedFinish(failure, output) };
  }

  close(): Promise<void> {
    return this.#options.files.end();
  }

  #draft(value: Json): { draft: Draft; pending: Pending[] } {
    const { references } = this.#options;
    const pending: Pending[] = [];
    if (!references) return { draft: value, pending };
    const draft = createDraft(value, (text) => {
      const one = references.recognise(text);
      if (one instanceof Pending) pending.push(one);
      return one;
    });
    return { draft, pending };
  }

  #push(delivery: Promise<Delivery>): void {
    // The delivery may fail before the queue reaches it.
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

  /** Returns the JSON and reserves its room: values that wait for a slow store count toward the limit too. */
  async #prepare(draft: Draft, pending: Pending[], source: JsonSource): Promise<Delivery> {
    const { reporter } = this;
    const found = await Promise.all(pending.map(async (one) => ({ one, stored: await one.file })));
    const addresses = new Map(found.map(({ one, stored: { url } }) => [one, url]));
    const json = textFrom(fillDraft(draft, addresses), source);
    const size = Buffer.byteLength(json);
    if (!reporter.reserve(size)) throw external("the output exceeds its limit");
    const made = isPreview(source.value) ? [] : found;
    const counted = (deliver: Delivery) => () => {
      deliver();
      for (const { one, stored } of made) this.#made.set(one, stored);
    };
    // Not awaited here, so that the values, up to twenty times the size of their JSON, are not kept
    // meanwhile.
    return size > MAX_INLINE_OUTPUT
      ? this.#store(json, size).then(counted)
      : counted(() => reporter.outputJson(json));
  }

  /** Reports how many images and how many seconds of sound the output has, in place of what its model says. */
  #count(): void {
    const made = [...this.#made.values()];
    const images = made.filter(({ isImage }) => isImage).length;
    const seconds = made.reduce((sum, file) => sum + (file.seconds ?? 0), 0);
    if (images > 0 || seconds > 0)
      this.reporter.metrics({
        ...(images > 0 && { images }),
        ...(seconds > 0 && { audio_seconds: seconds }),
      });
  }

  async #store(json: string, size: number): Promise<Delivery> {
    const name = await this.#options.store.value(json);
    return () => this.reporter.storedOutput({ name, size });
  }

  #fail(error: unknown): void {
    if (this.#failure) return;
    const { stop, failed, log } = this.#options;
    this.#failure = stop.aborted ? internal("stopped") : asFailure(error, log);
    failed.abort();
  }

  /** How the delivered values make up the output. */
  #deliveredPart(whole: Finish["output"]): Finish["output"] {
    return whole === "items" && this.#delivered > 0 ? "items" : "none";
  }
}

/** Whether the value is an event with a picture on the way to another. */
const isPreview = (value: Json): boolean =>
  isObject(value) && typeof value.type === "string" && value.type.endsWith(".partial_image");

/** Whether the value is too large for the log. */
const isLarge = (json: string): boolean =>
  json.length * UTF8_GROWTH > MAX_INLINE_OUTPUT && Buffer.byteLength(json) > MAX_INLINE_OUTPUT;
