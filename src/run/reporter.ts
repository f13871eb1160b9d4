/**
 * Buffers what a run has reported and the prediction has not received yet: merges events where
 * possible, enforces the limits, and hands the events out in portions for the frames.
 */

import { utf8Length } from "../lib/buffer.ts";
import { exactText } from "../lib/exact-json.ts";
import { withoutSeparators } from "../lib/json.ts";
import type { Finish } from "../protocol/channel.ts";
import type { Json } from "../protocol/common.ts";
import {
  MAX_NOTES,
  MAX_OUTPUTS,
  type Metrics,
  type ReportedEvent,
  type SetupProgress,
  type StoredValue,
} from "../protocol/event.ts";
import type { Limits } from "../protocol/runner.ts";
import { FRAME_BYTES, type Portion } from "./frame.ts";
import type { RunReporter } from "./run-reporter.ts";
import { isPreamble } from "./token-usage.ts";

/**
 * UTF-16 units of one piece of a long text: JSON encodes a unit in at most six bytes (`\u0000`).
 */
const PIECE_CHARS = Math.floor(FRAME_BYTES / 6) - 100;
/** Metrics per event: a name has at most 100 units, a number at most 25 characters. */
const PIECE_METRICS = 400;

/** Metrics of up to this many bytes are always accepted: token usage is reported twice at most. */
const FEW_METRICS = 200;

export interface ReporterOptions {
  limits: Pick<Limits, "output_bytes" | "logs_bytes">;
  onChange: () => void;
  /** Called once when the output exceeds its limits; the reporter accepts no more events after that. */
  onBreach: (message: string) => void;
}

interface Entry {
  /** Outputs are kept as JSON: as values they can take twenty times the memory. */
  event: ReportedEvent | string;
  bytes: number;
  /** An output that has text. */
  isText?: boolean;
}

export class Reporter implements RunReporter {
  readonly #options: ReporterOptions;
  #entries: Entry[] = [];
  #finish: Finish | undefined;
  #outputRoom: number;
  #logsRoom: number;
  #logsCut = false;
  #outputs = 0;
  /** How many events of other kinds were added. */
  #otherEvents = 0;
  #breached = false;
  /** The first output with text is sent at once; later ones may be batched. */
  #firstOutput: "ahead" | "waiting" | "taken" = "ahead";
  #started = false;
  #hasOutput = false;

  constructor(options: ReporterOptions) {
    const { output_bytes, logs_bytes } = options.limits;
    this.#options = options;
    this.#outputRoom = output_bytes;
    this.#logsRoom = Math.max(0, logs_bytes - utf8Length(this.#tooLongNotice));
  }

  /** The model has started on the input, as far as the runner can tell. */
  get started(): boolean {
    return this.#started;
  }

  /** There is output, in this buffer or at the prediction. */
  get hasOutput(): boolean {
    return this.#hasOutput;
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  get empty(): boolean {
    return this.#entries.length === 0 && this.#finish === undefined;
  }

  /** The buffer holds the first output or the end of the run, which clients wait for. */
  get urgent(): boolean {
    return this.#firstOutput === "waiting" || this.finished;
  }

  setup(progress: SetupProgress): void {
    const { logs, ...rest } = progress;
    if (progress.phase === "ready") this.#started = true;
    const kept = this.#withinLogs(logs ?? "");
    // Progress without a log is worthless once the log is cut off.
    if (kept === "" && (!logs || rest.phase === "ready")) this.#add({ event: "setup", data: rest });
    for (const piece of pieces(kept)) this.#add({ event: "setup", data: { ...rest, logs: piece } });
  }

  output(value: Json, json = exactText(value)): void {
    this.#started = true;
    const event = outputEvent(json);
    const bytes = utf8Length(event);
    if (this.reserve(bytes)) this.#addOutput({ event, bytes, isText: !isPreamble(value) });
  }

  outputJson(json: string): void {
    this.#started = true;
    const event = outputEvent(json);
    const bytes = utf8Length(event);
    if (!this.#breached) this.#addOutput({ event, bytes, isText: true });
  }

  reserve(bytes: number): boolean {
    if (this.#breached) return false;
    this.#outputRoom -= bytes;
    if (this.#outputRoom >= 0) return true;
    const { output_bytes } = this.#options.limits;
    this.#breach(`The output is larger than the limit of ${output_bytes} bytes`);
    return false;
  }

  #breach(message: string): void {
    this.#breached = true;
    this.#options.onBreach(message);
  }

  storedOutput(value: StoredValue): void {
    this.#started = true;
    const event = { event: "stored", data: value } as const;
    if (!this.#breached) this.#addOutput({ event, bytes: bytesOf(event), isText: true });
  }

  logs(text: string): void {
    this.#started = true;
    for (const data of pieces(this.#withinLogs(text))) this.#add({ event: "logs", data });
  }

  metrics(metrics: Metrics): void {
    this.#started = true;
    // Metrics count toward the output limit so that a model cannot fill the memory with metric
    // names. Small ones are always accepted: token usage is reported even for a run that was
    // stopped for exceeding the limit.
    const bytes = bytesOf({ event: "metrics", data: metrics });
    if (bytes > FEW_METRICS && !this.reserve(bytes)) return;
    const entries = Object.entries(metrics);
    for (let at = 0; at === 0 || at < entries.length; at += PIECE_METRICS) {
      const data = Object.fromEntries(entries.slice(at, at + PIECE_METRICS));
      this.#add({ event: "metrics", data });
    }
  }

  /** The run has ended; no report follows. */
  finish(finish: Finish): void {
    this.#finish = finish;
    this.#options.onChange();
  }

  /** Removes and returns the events of the next frame. */
  take(): Portion {
    let bytes = 0;
    let count = 0;
    for (const entry of this.#entries) {
      bytes += entry.bytes;
      if (count > 0 && bytes > FRAME_BYTES) break;
      count++;
    }
    const taken = this.#entries.splice(0, count);
    const awaited = this.#firstOutput === "waiting" && taken.some((entry) => entry.isText);
    if (awaited) this.#firstOutput = "taken";
    const events = taken.map(({ event }) => (typeof event === "string" ? event : eventText(event)));
    const last = this.#entries.length === 0;
    return last && this.#finish ? { events, finish: this.#finish } : { events };
  }

  #addOutput(entry: Entry): void {
    if (this.#outputs === MAX_OUTPUTS) {
      const limit = `The output has more than the limit of ${MAX_OUTPUTS} items`;
      return this.#breach(`${limit}: combine several items into one`);
    }
    this.#outputs += 1;
    this.#hasOutput = true;
    if (this.#firstOutput === "ahead" && entry.isText) this.#firstOutput = "waiting";
    this.#entries.push(entry);
    this.#options.onChange();
  }

  #add(event: ReportedEvent): void {
    const entry = { event, bytes: bytesOf(event) };
    const last = this.#entries.at(-1);
    const merged =
      last && last.bytes + entry.bytes <= FRAME_BYTES ? merge(last.event, event) : undefined;
    if (last && merged) {
      last.event = merged;
      last.bytes += entry.bytes;
    } else {
      this.#entries.push(entry);
      this.#otherEvents += 1;
    }
    this.#options.onChange();
  }

  get #tooLongNotice(): string {
    return cutNotice(`is longer than the limit of ${this.#options.limits.logs_bytes} bytes`);
  }

  /** The part of the text that fits into the log limit, and a notice where the log is cut. */
  #withinLogs(text: string): string {
    if (this.#logsCut) return "";
    if (this.#otherEvents >= MAX_NOTES) {
      this.#logsCut = true;
      return text && cutNotice(`has more than ${MAX_NOTES} parts`);
    }
    const bytes = new TextEncoder().encode(text);
    this.#logsRoom -= bytes.length;
    if (this.#logsRoom >= 0) return text;
    this.#logsCut = true;
    const kept = new TextDecoder().decode(bytes.subarray(0, bytes.length + this.#logsRoom));
    // A character that was cut in two decodes to U+FFFD.
    return kept.replace(/\uFFFD+$/u, "") + this.#tooLongNotice;
  }
}

const cutNotice = (why: string) => `\n[auspex] Log truncated: it ${why}.\n`;

/** Splits a text without splitting a surrogate pair. An empty text has no pieces. */
function* pieces(text: string): Generator<string> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + PIECE_CHARS;
    const torn = text.codePointAt(to - 1) ?? 0;
    if (to < text.length && torn > 0xffff) to -= 1;
    yield text.slice(from, to);
  }
}

const outputEvent = (json: string) => `{"event":"output","data":${json}}`;

const eventText = (event: ReportedEvent) => withoutSeparators(JSON.stringify(event));

const bytesOf = (event: ReportedEvent) => utf8Length(eventText(event));

/** Merges two adjacent events; undefined if they cannot be merged without a loss. */
function merge(last: Entry["event"], next: ReportedEvent): ReportedEvent | undefined {
  if (typeof last === "string") return undefined;
  if (last.event === "logs" && next.event === "logs") {
    return { event: "logs", data: last.data + next.data };
  }
  if (last.event === "metrics" && next.event === "metrics") {
    return { event: "metrics", data: { ...last.data, ...next.data } };
  }
  if (last.event === "setup" && next.event === "setup" && last.data.phase === next.data.phase) {
    const logs = (last.data.logs ?? "") + (next.data.logs ?? "");
    return { event: "setup", data: { ...last.data, ...next.data, ...(logs && { logs }) } };
  }
  return undefined;
}
