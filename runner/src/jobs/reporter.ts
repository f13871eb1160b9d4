/**
 * What a run has said and the prediction does not have yet: the reporter that gathers it, merges
 * what may be merged, keeps the limits, and hands it out in portions for the frames.
 */
import type { Finish } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import {
  MAX_NOTES,
  MAX_OUTPUTS,
  type Metrics,
  type ReportedEvent,
  type SetupProgress,
  type StoredValue,
} from "../../../src/protocol/event.ts";
import type { Limits } from "../../../src/protocol/runner.ts";
import type { RunReporter } from "./executor.ts";
import { isPreamble } from "./token-estimate.ts";

/**
 * A larger frame gains nothing, and is refused somewhat above. An output may be as long by itself,
 * and then travels alone; whatever else is longer is split. It is also what keeps a frame below the
 * protocol's 10,000 events, none of which is shorter than 27 bytes.
 */
export const FRAME_BYTES = 256 * 1024;

/** A piece of a long text, as UTF-16 units: JSON makes at most six bytes of one (`\u0000`). */
const PIECE_CHARS = Math.floor(FRAME_BYTES / 6) - 100;
/** Metrics in a piece of many: a name has 100 units at most, and a number 25 characters. */
const PIECE_METRICS = 400;

/** Bytes of what says how many tokens were used. It is said twice at most, and always taken. */
const FEW_METRICS = 200;

export interface Portion {
  /** The JSON of each. */
  events: string[];
  /** With the last portion only. */
  finish?: Finish;
}

export interface ReporterOptions {
  limits: Pick<Limits, "output_bytes" | "logs_bytes">;
  /** There is something to take. */
  onChange: () => void;
  /** The output is larger than it may be, or has more values; called once, nothing more is kept. */
  onBreach: (message: string) => void;
}

interface Entry {
  /** Outputs, of which there may be many, as JSON: as values they may be twenty times as large. */
  event: ReportedEvent | string;
  bytes: number;
  /** An output that says something. */
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
  /** Events of other kinds, as they are sent. */
  #otherEvents = 0;
  #breached = false;
  /** The first output that says something is waited for, those after it can be gathered. */
  #firstOutput: "ahead" | "waiting" | "taken" = "ahead";
  #started = false;
  #hasOutput = false;

  constructor(options: ReporterOptions) {
    const { output_bytes, logs_bytes } = options.limits;
    this.#options = options;
    this.#outputRoom = output_bytes;
    this.#logsRoom = Math.max(0, logs_bytes - Buffer.byteLength(this.#tooLongNotice));
  }

  /** The model has been asked to run, as far as one can tell. */
  get started(): boolean {
    return this.#started;
  }

  /** There is output, here or at the prediction. */
  get hasOutput(): boolean {
    return this.#hasOutput;
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  get empty(): boolean {
    return this.#entries.length === 0 && this.#finish === undefined;
  }

  /** Somebody waits for what is here: the first output, or the end. */
  get urgent(): boolean {
    return this.#firstOutput === "waiting" || this.finished;
  }

  setup(progress: SetupProgress): void {
    const { logs, ...rest } = progress;
    if (progress.phase === "ready") this.#started = true;
    const kept = this.#withinLogs(logs ?? "");
    // That it has printed something says nothing once that is cut.
    if (kept === "" && (!logs || rest.phase === "ready")) this.#add({ event: "setup", data: rest });
    for (const piece of pieces(kept)) this.#add({ event: "setup", data: { ...rest, logs: piece } });
  }

  output(value: Json): void {
    this.#started = true;
    const event = outputEvent(JSON.stringify(value));
    const bytes = Buffer.byteLength(event);
    if (this.reserve(bytes)) this.#addOutput({ event, bytes, isText: !isPreamble(value) });
  }

  outputJson(json: string): void {
    this.#started = true;
    const event = outputEvent(json);
    const bytes = Buffer.byteLength(event);
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
    // Counted as output: a model may not fill the memory with names of metrics either. But what
    // was used is told, also of a run that was stopped because it had put out too much.
    const bytes = bytesOf({ event: "metrics", data: metrics });
    if (bytes > FEW_METRICS && !this.reserve(bytes)) return;
    const entries = Object.entries(metrics);
    for (let at = 0; at === 0 || at < entries.length; at += PIECE_METRICS) {
      const data = Object.fromEntries(entries.slice(at, at + PIECE_METRICS));
      this.#add({ event: "metrics", data });
    }
  }

  /** The run has ended; nothing comes after this. */
  finish(finish: Finish): void {
    this.#finish = finish;
    this.#options.onChange();
  }

  /** Removes and returns what goes into the next frame. */
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
    const events = taken.map(({ event }) =>
      typeof event === "string" ? event : JSON.stringify(event),
    );
    const last = this.#entries.length === 0;
    return last && this.#finish ? { events, finish: this.#finish } : { events };
  }

  #addOutput(entry: Entry): void {
    if (this.#outputs === MAX_OUTPUTS) {
      const limit = `The output has more than the limit of ${MAX_OUTPUTS} items`;
      return this.#breach(`${limit}: have the model put out several as one`);
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
    return cutNotice(`is longer than ${this.#options.limits.logs_bytes} bytes`);
  }

  /** The text as far as there is room for it; where the room ends, it says so. */
  #withinLogs(text: string): string {
    if (this.#logsCut) return "";
    if (this.#otherEvents >= MAX_NOTES) {
      this.#logsCut = true;
      return text && cutNotice(`has come in more than ${MAX_NOTES} pieces`);
    }
    const bytes = Buffer.from(text);
    this.#logsRoom -= bytes.length;
    if (this.#logsRoom >= 0) return text;
    this.#logsCut = true;
    const kept = bytes.subarray(0, bytes.length + this.#logsRoom).toString();
    // A character that was cut in two decodes to U+FFFD.
    return kept.replace(/\uFFFD+$/u, "") + this.#tooLongNotice;
  }
}

const cutNotice = (why: string) => `\n[auspex] The log is cut here: it ${why}.\n`;

/** None of them tears a character in two; nothing of nothing. */
function* pieces(text: string): Generator<string> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + PIECE_CHARS;
    const torn = text.codePointAt(to - 1) ?? 0;
    if (to < text.length && torn > 0xffff) to -= 1;
    yield text.slice(from, to);
  }
}

const outputEvent = (json: string) => `{"event":"output","data":${json}}`;

const bytesOf = (event: ReportedEvent) => Buffer.byteLength(JSON.stringify(event));

/** Two neighbours as one event, where that says the same; undefined where it would not. */
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
