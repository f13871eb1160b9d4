/** Follows a prediction from its beginning to its end, for views that show its outputs in their own way. */

import { setupText } from "../../../domain/predictions/timeline.ts";
import { isObject } from "../../../lib/json.ts";
import { type Backoff, backoffMs } from "../../../lib/retry.ts";
import type { Json } from "../../../protocol/common.ts";
import type { Prediction } from "../../../protocol/prediction.ts";
import { RECONNECTING, SIGNED_OUT } from "./current-page.ts";
import { inAccount } from "./element.ts";

export type Status = Prediction["status"];

export const GONE = "This prediction was deleted, or you no longer have access to it.";

const ANSWER_MS = 10_000;
/** Interval of requests for the reason, the same as on the prediction's page. */
const WHY_MS = 5_000;
const SHOWN_AFTER_MS = 1_000;

export interface Ending {
  status: Exclude<Status, "pending" | "started">;
  message?: string;
}

export interface StreamReader {
  /** The prediction's status; `note` or `end` follows if the status changes them. */
  status: (status: Status) => void;
  output: (value: Json) => void;
  metrics: (metrics: Json) => void;
  /** The reason why the prediction waits, in words; undefined for none. */
  note: (note: string | undefined) => void;
  end: (ending: Ending) => void;
}

export class PredictionStream {
  readonly #address: string;
  readonly #reader: StreamReader;
  readonly #stream: LiveStream;
  #last = 0;
  #hasOutput = false;
  /** A connection that comes back does not send the status again. */
  #shownNote: string | undefined;
  #isWaiting = false;
  readonly #whyTimer: number;
  #waitTimer: number | undefined;

  constructor(id: string, reader: StreamReader) {
    this.#address = inAccount(`/predictions/${id}`);
    this.#reader = reader;
    const on =
      (take: (data: Json) => void) =>
      ({ data, lastEventId }: MessageEvent<string>) => {
        this.#last = Number(lastEventId);
        take(JSON.parse(data));
      };
    this.#stream = new LiveStream({
      address: () => `${this.#address}/events?after_id=${this.#last}`,
      events: {
        status: on((data) => this.#status(data)),
        setup: on((data) => this.#setup(data)),
        output: on((data) => {
          this.#note(undefined);
          this.#hasOutput = true;
          this.#isWaiting = false;
          reader.output(data);
        }),
        metrics: on(reader.metrics),
        done: on((data) => {
          const ending = endingIn(data);
          reader.status(ending.status);
          this.#end(ending);
        }),
      },
      onConnected: () => reader.note(this.#shownNote),
      onLost: () => reader.note(RECONNECTING),
      mayReturn: () => this.#mayReturn(),
    });
    this.#whyTimer = window.setInterval(() => void this.#explain().catch(() => {}), WHY_MS);
  }

  close(): void {
    clearInterval(this.#whyTimer);
    clearTimeout(this.#waitTimer);
    this.#stream.close();
  }

  #end(ending: Ending): void {
    this.close();
    this.#reader.end(ending);
  }

  /** No note is shown once there is output. */
  #note(note: string | undefined): void {
    if (this.#hasOutput || note === this.#shownNote) return;
    this.#shownNote = note;
    this.#reader.note(note);
  }

  #status(data: Json): void {
    const status = isObject(data) ? data.status : undefined;
    if (status !== "pending" && status !== "started") return;
    this.#reader.status(status);
    const ended = endedAttemptText(data);
    this.#isWaiting = status === "pending" || ended !== undefined;
    clearTimeout(this.#waitTimer);
    if (status === "started" || ended !== undefined) return this.#note(ended ?? "Starting…");
    // Most predictions start sooner: the text would only flash.
    this.#waitTimer = window.setTimeout(() => {
      if (this.#isWaiting) this.#note("Waiting for a runner…");
    }, SHOWN_AFTER_MS);
  }

  async #explain(): Promise<void> {
    if (!this.#isWaiting || document.hidden) return;
    const page = new DOMParser().parseFromString(await (await this.#why()).text(), "text/html");
    const why = page.querySelector("[data-why]")?.textContent.trim();
    // The prediction may have begun meanwhile.
    if (why && this.#isWaiting) this.#note(why);
  }

  #why(): Promise<Response> {
    return fetch(`${this.#address}/why`, { signal: AbortSignal.timeout(ANSWER_MS) });
  }

  #setup(data: Json): void {
    if (!isObject(data)) return;
    this.#isWaiting = false;
    const { phase, progress } = data;
    if (phase === "ready") return this.#note("Running…");
    if (phase !== "pulling" && phase !== "starting") return;
    const text = setupText({ phase, ...(typeof progress === "number" && { progress }) });
    this.#note(`${text}…`);
  }

  /** A refused stream means that the session has ended, or the prediction is gone or unavailable now. */
  async #mayReturn(): Promise<boolean> {
    try {
      const response = await this.#why();
      if (response.status === 404) {
        this.#end({ status: "failed", message: GONE });
        return false;
      }
      // The further course is unknown until the user has logged in again.
      if (response.redirected || response.status === 401) this.#reader.note(SIGNED_OUT);
      return true;
    } catch {
      return true;
    }
  }
}

function endingIn(data: Json): Ending {
  const { status, error } = isObject(data) ? data : {};
  if (status === "succeeded" || status === "canceled") return { status };
  const message = isObject(error) ? error.message : undefined;
  return { status: "failed", message: typeof message === "string" ? message : "The model failed." };
}

export function endedAttemptText(data: Json): string | undefined {
  if (fieldOf(data, "lost") !== undefined) return "The runner was lost. Waiting for another.";
  const fallback = fieldOf(data, "fallback");
  if (fallback !== undefined) return `A fallback answers: ${fallback}.`;
  if (fieldOf(data, "returned") !== undefined)
    return "The runner returned the prediction. Waiting for another.";
  return undefined;
}

export const fieldOf = (data: Json, name: string): unknown =>
  typeof data === "object" && data !== null
    ? Object.getOwnPropertyDescriptor(data, name)?.value
    : undefined;

/** Streams end after some minutes and browsers reconnect after about 3 s: not worth a notice. */
const NOTICE_MS = 8_000;
/** Time without an event after which the stream connects again. */
const SILENCE_MS = 45_000;
const REFUSED: Backoff = { baseMs: 2_000, maxMs: 30_000 };

export interface LiveStreamOptions {
  /** Returns the address of the stream after the last event that has come. */
  address: () => string;
  events: Record<string, (event: MessageEvent<string>) => void>;
  onConnected: () => void;
  /** The stream has not connected for some seconds; it still tries. */
  onLost: () => void;
  /** Called when it is refused. @returns whether it is to connect again */
  mayReturn: () => Promise<boolean>;
}

export class LiveStream {
  readonly #options: LiveStreamOptions;
  #source: EventSource | undefined;
  #noticeTimer: number | undefined;
  #connectTimer: number | undefined;
  #refusals = 0;
  #isClosed = false;

  constructor(options: LiveStreamOptions) {
    this.#options = options;
    this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    this.#source?.close();
    clearTimeout(this.#noticeTimer);
    clearTimeout(this.#connectTimer);
  }

  #connect(): void {
    this.#source?.close();
    const source = new EventSource(this.#options.address());
    this.#source = source;
    for (const [name, take] of Object.entries(this.#options.events)) {
      source.addEventListener(name, (event: MessageEvent<string>) => {
        this.#connectIn(SILENCE_MS);
        take(event);
      });
    }
    source.onopen = () => this.#connected();
    source.onerror = (event) => {
      // Events of the prediction that are named `error` arrive here too.
      if (event instanceof MessageEvent) return;
      // Otherwise the browser reconnects and resumes by itself.
      if (source.readyState === EventSource.CLOSED) void this.#refused();
      else this.#expectConnection();
    };
    this.#expectConnection();
    this.#connectIn(SILENCE_MS);
  }

  #connectIn(ms: number): void {
    clearTimeout(this.#connectTimer);
    if (!this.#isClosed) this.#connectTimer = window.setTimeout(() => this.#connect(), ms);
  }

  #expectConnection(): void {
    this.#noticeTimer ??= window.setTimeout(() => this.#options.onLost(), NOTICE_MS);
  }

  #connected(): void {
    clearTimeout(this.#noticeTimer);
    this.#noticeTimer = undefined;
    this.#refusals = 0;
    this.#connectIn(SILENCE_MS);
    this.#options.onConnected();
  }

  async #refused(): Promise<void> {
    clearTimeout(this.#connectTimer);
    const again = await this.#options.mayReturn();
    if (!again) return this.close();
    this.#refusals += 1;
    this.#connectIn(backoffMs(this.#refusals, REFUSED));
  }
}
