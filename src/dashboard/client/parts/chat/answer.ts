/** One answer: makes its prediction, reads what streams, and stops it. */
import { setupText } from "../../../../domain/predictions/setup-text.ts";
import { isObject } from "../../../../lib/json.ts";
import type { Json } from "../../../../protocol/common.ts";
import type { AssistantTurn } from "../../../playground/chat/conversation.ts";
import { Reply } from "../../../playground/chat/reply.ts";
import { RECONNECTING, SIGNED_OUT } from "../current-page.ts";
import { LiveStream } from "../live-stream.ts";
import { post } from "../post.ts";

/** More is not shown: the prediction's page has all of it. */
const MAX_CHARS = 256 * 1024;

const CUT = "The answer reached its maximum of tokens, and ends early.";
const TOO_LONG = "The answer is too long to show in full.";

export interface AnswerOptions {
  turn: AssistantTurn;
  /** Where predictions are made, and how. */
  start: { address: string; body: object };
  /** The turn has changed. @param note what it waits for, in words */
  onChange: (note?: string) => void;
  onEnd: () => void;
}

export class Answer {
  readonly #options: AnswerOptions;
  readonly #turn: AssistantTurn;
  readonly #reply = new Reply();
  #stream: LiveStream | undefined;
  #last = 0;
  #isStopping = false;

  constructor(options: AnswerOptions) {
    this.#options = options;
    this.#turn = options.turn;
    void this.#begin();
  }

  /** What was written stays. */
  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#options.onChange("Stopping…");
    if (this.#turn.prediction !== undefined) void this.#cancel(this.#turn.prediction);
  }

  async #begin(): Promise<void> {
    const { address, body } = this.#options.start;
    try {
      if (this.#turn.prediction === undefined) {
        this.#options.onChange("Sending…");
        const response = await post(address, body);
        const { id }: { id: string } = await response.json();
        this.#turn.prediction = id;
        this.#options.onChange("Waiting for the model…");
      }
      if (this.#isStopping) void this.#cancel(this.#turn.prediction);
      this.#follow(`/predictions/${this.#turn.prediction}`);
    } catch (error) {
      this.#end("failed", error instanceof Error ? error.message : String(error));
    }
  }

  async #cancel(id: string): Promise<void> {
    try {
      await post(`/predictions/${id}/cancel`);
    } catch (error) {
      // It may have ended by itself meanwhile.
      if (this.#turn.state !== "running") return;
      this.#isStopping = false;
      this.#options.onChange(error instanceof Error ? error.message : String(error));
    }
  }

  #follow(address: string): void {
    const on =
      (take: (data: Json) => void) =>
      ({ data, lastEventId }: MessageEvent<string>) => {
        this.#last = Number(lastEventId);
        take(JSON.parse(data));
      };
    this.#stream = new LiveStream({
      address: () => `${address}/events?after_id=${this.#last}`,
      events: {
        status: on((data) => this.#status(data)),
        setup: on((data) => this.#setup(data)),
        output: on((data) => this.#output(data)),
        metrics: on((data) => this.#reply.count(data)),
        done: on((data) => this.#done(data)),
      },
      onConnected: () => this.#options.onChange(),
      onLost: () => this.#options.onChange(RECONNECTING),
      mayReturn: () => this.#mayReturn(address),
    });
  }

  #status(data: Json): void {
    const status = isObject(data) ? data.status : undefined;
    if (this.#reply.isEmpty && !this.#isStopping)
      this.#options.onChange(status === "started" ? "Thinking…" : "Waiting for the model…");
  }

  #setup(data: Json): void {
    if (!isObject(data) || !this.#reply.isEmpty || this.#isStopping) return;
    const { phase, progress } = data;
    if (phase !== "pulling" && phase !== "starting") return;
    this.#options.onChange(
      `${setupText({ phase, ...(typeof progress === "number" && { progress }) })}…`,
    );
  }

  #output(data: Json): void {
    this.#turn.firstMs ??= Date.now() - this.#turn.sentAt;
    this.#reply.take(data);
    this.#show();
  }

  #show(): void {
    const { text, reasoning, calls, usage } = this.#reply;
    // An answer that is replayed after a reload grows over what is shown, not from nothing.
    if (text.length >= this.#turn.text.length || this.#turn.state !== "running")
      this.#turn.text = text.slice(0, MAX_CHARS);
    this.#turn.reasoning = reasoning.slice(0, MAX_CHARS);
    this.#turn.calls = calls.map((call, n) => ({ ...call, id: call.id || `call_${n + 1}` }));
    if (Object.keys(usage).length > 0) this.#turn.usage = { ...usage };
    this.#options.onChange();
  }

  #done(data: Json): void {
    const { status, error } = isObject(data) ? data : {};
    this.#turn.totalMs ??= Date.now() - this.#turn.sentAt;
    if (status === "canceled") return this.#end("stopped");
    if (status === "failed") {
      const message = isObject(error) ? error.message : undefined;
      return this.#end("failed", typeof message === "string" ? message : "The model failed.");
    }
    if (this.#reply.text.length > MAX_CHARS) return this.#end("done", TOO_LONG);
    this.#end("done", this.#reply.isCut ? CUT : undefined);
  }

  #end(state: AssistantTurn["state"], problem?: string): void {
    this.#stream?.close();
    this.#turn.state = state;
    if (problem === undefined) delete this.#turn.problem;
    else this.#turn.problem = problem;
    this.#show();
    this.#options.onEnd();
  }

  /** Refused: the session has ended, the prediction is gone, or the service cannot give it now. */
  async #mayReturn(address: string): Promise<boolean> {
    try {
      const response = await fetch(`${address}/why`, { signal: AbortSignal.timeout(10_000) });
      const isOver = response.redirected || response.status === 401 || response.status === 404;
      if (!isOver) return true;
      this.#end(
        "failed",
        response.status === 404 ? "The prediction is no longer here." : SIGNED_OUT,
      );
      return false;
    } catch {
      return true;
    }
  }
}
