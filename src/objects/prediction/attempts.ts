/** What the runner of the current attempt says, and what happens when it says nothing. */

import type { Attempt } from "../../domain/predictions/attempts.ts";
import { heardBeforeRestart, type Patience } from "../../domain/predictions/deadlines.ts";
import { type LeaseHolder, receiptOf } from "../../domain/predictions/lease.ts";
import { passedBound } from "../../lib/json-scan.ts";
import { logger } from "../../log.ts";
import {
  CLOSE,
  type DownFrame,
  type EventsFrame,
  FRAME_BOUNDS,
  type UpFrame,
  upFrame,
} from "../../protocol/channel.ts";
import { type LogEvent, MAX_NOTES, MAX_OUTPUTS } from "../../protocol/event.ts";
import type { Limits } from "../../protocol/runner.ts";
import { close, fence, send } from "./channels.ts";
import type { Effects } from "./effects.ts";
import { MAX_FRAME_UNITS } from "./entries.ts";
import { attemptOf } from "./lease-holder.ts";
import { type Line, linesOf, type Totals } from "./log.ts";
import type { PredictionRecord } from "./record.ts";

/** What is over a limit by more than its envelope can be: the runner keeps the limits exactly. */
const TOLERANCE = 1.1;

const TOO_MUCH = "The runner sent more than a prediction may have.";
const TOO_DEEP = "The runner sent a value that is nested too deep to be kept.";
const TOO_MANY = "The runner sent more values than a frame may have.";

/** What a frame is answered with; nothing is said to a hand-back. */
export type Reply =
  | Extract<DownFrame, { type: "ack" | "fenced" }>
  | { type: "refused"; reason: string; receipt?: string };

export class Attempts {
  readonly #effects: Effects;
  readonly #patience: Patience;

  constructor(effects: Effects, patience: Patience) {
    this.#effects = effects;
    this.#patience = patience;
  }

  async connect(record: PredictionRecord | undefined, holder: LeaseHolder): Promise<Response> {
    const attempt = record && (await attemptOf(record, holder));
    if (!attempt || !this.#hear(record, attempt)) {
      return new Response("The attempt has ended.", { status: 409 });
    }
    const { channels } = this.#effects;
    const { life, log } = record;
    const { number, secret } = attempt;
    const welcome = { attempt: number, seq: log.seqOf(number), receipt: receiptOf(secret) };
    const response = channels.accept(welcome, holder, Date.now());
    if (life.channelOpened(number)) record.save();
    // Terminal by this runner's own finish, whose ack was lost: it sees so by the welcome.
    if (life.terminal) channels.fence(`the prediction is ${life.state.status}`);
    else if (life.state.cancel_requested_at !== null) this.#effects.tellCancel(record, "canceled");
    return response;
  }

  /**
   * The runner of an attempt has come: of two the first has the job.
   * @returns whether it is heard out: also when the prediction has ended with it, which it is told
   */
  #hear(record: PredictionRecord, attempt: Attempt): boolean {
    const { life } = record;
    const dismissed = life.resolveDismissed(attempt.number);
    if (dismissed) this.#effects.excuse(record, attempt);
    if (dismissed || life.confirmAttempt(attempt.number)) this.#effects.commit(record);
    return !dismissed || life.state.attempt?.number === attempt.number;
  }

  receive(
    record: PredictionRecord | undefined,
    socket: WebSocket,
    message: string | ArrayBuffer,
  ): void {
    const passed = typeof message === "string" && passedBound(message, FRAME_BOUNDS);
    if (passed) return this.#refuse(record, socket, passed === "depth" ? TOO_DEEP : TOO_MANY);
    const frame = parseFrame(message);
    if (!frame) return close(socket, CLOSE.badFrame, "not a frame of the channel's protocol");
    const reply = this.#take(record, this.#effects.channels.attemptOf(socket), frame);
    switch (reply?.type) {
      case "refused":
        return close(socket, CLOSE.badFrame, reply.reason);
      case "fenced":
        return fence(socket, reply.reason);
      case "ack":
        return send(socket, reply);
    }
  }

  /** The one frame of a run that has ended before a channel was worth opening. */
  async report(
    record: PredictionRecord | undefined,
    holder: LeaseHolder,
    frame: EventsFrame,
  ): Promise<Reply> {
    const attempt = record && (await attemptOf(record, holder));
    if (!attempt || !this.#hear(record, attempt)) {
      return { type: "fenced", reason: "the attempt has ended" };
    }
    const reply = this.#take(record, attempt.number, frame) ?? { type: "ack", seq: frame.seq };
    return { ...reply, receipt: receiptOf(attempt.secret) };
  }

  #take(record: PredictionRecord | undefined, attempt: number, frame: UpFrame): Reply | undefined {
    if (!record) return { type: "fenced", reason: "the prediction is gone" };
    const kept = record.log.seqOf(attempt);
    if (frame.type === "events" && frame.seq <= kept) return { type: "ack", seq: kept };
    if (!record.life.acceptsFrom(attempt)) {
      return { type: "fenced", reason: `attempt ${attempt} has ended` };
    }
    const now = Date.now();
    this.#effects.channels.heard(now);
    if (frame.type === "release") return this.#release(record, now);
    if (frame.seq !== kept + 1) {
      return { type: "refused", reason: `frame ${kept + 1} comes next, not ${frame.seq}` };
    }
    this.#report(record, frame, attempt, now);
    return { type: "ack", seq: frame.seq };
  }

  /** Ends a run whose frame is not even looked at: sent again, it would be no better. */
  #refuse(record: PredictionRecord | undefined, socket: WebSocket, why: string): void {
    if (record?.life.acceptsFrom(this.#effects.channels.attemptOf(socket))) {
      record.life.fail("internal", why, Date.now());
      this.#effects.commit(record);
    }
    fence(socket, why);
  }

  /** A channel broke: the lease goes on for a while from here, unless another took over before. */
  disconnected(record: PredictionRecord | undefined, socket: WebSocket): void {
    const { channels } = this.#effects;
    if (!record?.life.acceptsFrom(channels.attemptOf(socket))) return;
    if (channels.isReplaced(socket)) return;
    record.life.channelClosed(Date.now());
    record.save();
  }

  leaseEnded(record: PredictionRecord, now: number): void {
    const { life, log } = record;
    const { attempt } = life.state;
    const { channels } = this.#effects;
    if (!attempt) return;
    if (channels.open(attempt.number) === null) {
      const heardAt = heardBeforeRestart(log.saidAt(attempt.number), now, this.#patience);
      if (life.grantGrace(heardAt)) return record.save();
    }
    this.#lose(record, "the lease has ended", now);
  }

  /**
   * A channel lives no longer than the token of its runner. While that cannot be looked up nobody's
   * run is ended: it is looked at again 10 s later.
   */
  async vouch(record: PredictionRecord, known: (tokenId: string) => Promise<number | undefined>) {
    const { number } = record.life.state.attempt ?? { number: 0 };
    const { channels } = this.#effects;
    const channel = channels.open(number);
    if (!channel) return;
    const knownAt = await known(channel.token_id).catch((error) => {
      logger.warn("Runner token lookup failed", { prediction_id: record.life.spec.id, error });
      return Date.now();
    });
    if (knownAt !== undefined) return channels.vouch(number, knownAt);
    if (record.life.acceptsFrom(number))
      this.#lose(record, "the runner token is revoked", Date.now());
  }

  #lose(record: PredictionRecord, why: string, now: number): void {
    const { life } = record;
    life.lose(record.produced, now);
    if (!life.waiting) return this.#effects.commit(record);
    this.#effects.channels.fence(why);
    this.#effects.dispatch(record, now);
  }

  #release(record: PredictionRecord, now: number): undefined {
    record.life.release(record.produced, now);
    if (!record.life.waiting) {
      this.#effects.commit(record);
      return;
    }
    this.#effects.channels.fence("handed back");
    this.#effects.dispatch(record, now);
  }

  #report(record: PredictionRecord, frame: EventsFrame, attempt: number, now: number): void {
    const { life, log } = record;
    const reported = writtenLines(frame.events);
    life.start(now);
    const own = linesOf(life.takeEvents());
    const started =
      own.length > 0 ? { ...record.happening("started", now), sequence: log.last + 1 } : undefined;
    let changed = started !== undefined || frame.finish !== undefined;
    for (const reported of frame.events) {
      if (reported.event === "metrics") life.mergeMetrics(reported.data);
      if (reported.event === "setup" && reported.data.phase === "ready") life.markReady(now);
      changed ||= reported.event === "metrics" || reported.event === "setup";
    }
    const totals = reported && log.totalsWith(attempt, frame.seq, reported);
    if (!totals || isTooMuch(reported, totals, life.spec.limits)) {
      life.fail("internal", totals ? TOO_MUCH : TOO_DEEP, now);
      return this.#effects.commit(record, { lines: own, started });
    }
    if (frame.finish) life.finish(frame.finish, now);
    const lines = [...own, ...reported];
    const finished = frame.finish !== undefined;
    this.#effects.commit(record, { lines, totals, changed, finished, started });
    // A timer keeps the object awake, and 2 s of that are $3.20 a million.
    if (started && !life.terminal) this.#effects.projectStarted(record);
  }
}

/** undefined when a value is nested so deep that there is no writing it. */
function writtenLines(events: LogEvent[]): Line[] | undefined {
  try {
    return linesOf(events);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const isTooMuch = (
  lines: Line[],
  { outputs, notes, output_bytes, logs_bytes }: Totals,
  limits: Limits,
): boolean =>
  lines.reduce((units, { json }) => units + json.length, 0) > MAX_FRAME_UNITS ||
  outputs > MAX_OUTPUTS ||
  notes > MAX_NOTES * TOLERANCE ||
  output_bytes > limits.output_bytes * TOLERANCE ||
  logs_bytes > limits.logs_bytes * TOLERANCE;

function parseFrame(message: string | ArrayBuffer): UpFrame | undefined {
  if (typeof message !== "string") return undefined;
  try {
    return upFrame.parse(JSON.parse(message));
  } catch {
    return undefined;
  }
}
