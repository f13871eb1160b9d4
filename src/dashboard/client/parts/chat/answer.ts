/** One answer: makes its prediction, reads what streams, and stops it. */

import type { AssistantTurn } from "../../../playground/chat/conversation.ts";
import { Reply } from "../../../playground/chat/reply.ts";
import { inAccount } from "../element.ts";
import { messageOf, post } from "../post.ts";
import { type Ending, PredictionStream, type Status } from "../prediction-stream.ts";

/** The most text of an answer that is shown: the prediction's page has all of it. */
const MAX_CHARS = 256 * 1024;

const CUT = "Stopped at the maximum number of tokens.";
const NOTHING = "The model returned nothing.";
const TOO_LONG = "This reply is too long to show in full.";

export interface AnswerOptions {
  turn: AssistantTurn;
  start: { address: string; body: object };
  /** The turn has changed. @param note the reason why it waits, in words */
  onChange: (note?: string) => void;
  onStatus: (id: string, status: Status) => void;
  onEnd: () => void;
}

export class Answer {
  readonly #options: AnswerOptions;
  readonly #turn: AssistantTurn;
  readonly #reply = new Reply();
  #isStopping = false;

  constructor(options: AnswerOptions) {
    this.#options = options;
    this.#turn = options.turn;
    void this.#begin();
  }

  /** Cancels the prediction; text that was written stays. */
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
        if (this.#isStopping) void this.#cancel(id);
      }
      this.#follow(this.#turn.prediction);
    } catch (error) {
      this.#end("failed", messageOf(error));
    }
  }

  async #cancel(id: string): Promise<void> {
    try {
      await post(inAccount(`/predictions/${id}/cancel`));
    } catch (error) {
      // The prediction may have ended by itself meanwhile.
      if (this.#turn.state !== "running") return;
      this.#isStopping = false;
      this.#options.onChange(messageOf(error));
    }
  }

  #follow(id: string): void {
    new PredictionStream(id, {
      status: (status) => this.#options.onStatus(id, status),
      output: (value) => {
        if (this.#turn.sentAt > 0) this.#turn.firstMs ??= Date.now() - this.#turn.sentAt;
        this.#reply.take(value);
        this.#show();
      },
      metrics: (metrics) => this.#reply.count(metrics),
      note: (note) => {
        if (!this.#isStopping) this.#options.onChange(note);
      },
      end: (ending) => this.#ended(ending),
    });
  }

  #show(): void {
    const { text, reasoning, calls, usage } = this.#reply;
    // An answer that is replayed after a reload grows over what is shown, not from nothing.
    if (text.length >= this.#turn.text.length || this.#turn.state !== "running")
      this.#turn.text = text.slice(0, MAX_CHARS);
    this.#turn.reasoning = reasoning.slice(0, MAX_CHARS);
    this.#turn.calls = calls.map((call, n) => ({ ...call, id: call.id || `call_${n + 1}` }));
    if (Object.keys(usage).length > 0) this.#turn.usage = { ...usage };
    this.#options.onChange(this.#isStopping ? "Stopping…" : undefined);
  }

  #ended({ status, message }: Ending): void {
    if (this.#turn.sentAt > 0) this.#turn.totalMs ??= Date.now() - this.#turn.sentAt;
    if (status === "canceled") return this.#end("stopped");
    if (status === "failed") return this.#end("failed", message);
    if (this.#reply.isEmpty) return this.#end("done", NOTHING);
    if (this.#reply.text.length > MAX_CHARS) return this.#end("done", TOO_LONG);
    this.#end("done", this.#reply.isCut ? CUT : undefined);
  }

  #end(state: AssistantTurn["state"], problem?: string): void {
    this.#turn.state = state;
    if (problem !== undefined) this.#turn.problem = problem;
    this.#show();
    this.#options.onEnd();
  }
}
