/**
 * An event stream that comes back from whatever ends it. Of itself an EventSource gives up when it is
 * refused, as with a 503 or a 429, and on a network that is gone without a word it stays open for many
 * minutes.
 */
import { type Backoff, backoffMs } from "../../../lib/retry.ts";

/** Streams end after some minutes and browsers reconnect after about 3 s: not worth a notice. */
const NOTICE_MS = 8_000;
/** Time without an event after which the stream connects again. */
const SILENCE_MS = 45_000;
const REFUSED: Backoff = { baseMs: 2_000, maxMs: 30_000 };

export interface LiveStreamOptions {
  /** Returns the address of the stream after the last event that has come. */
  address: () => string;
  /** Handlers by the name of their event. */
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
