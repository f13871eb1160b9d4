/** The runner of the current attempt: its frames, its channel and its lease. */
import { type Attempt, STORED_SAVE_INTERVAL } from "../../domain/predictions/attempts.ts";
import { type Patience, seenBeforeRestart } from "../../domain/predictions/deadlines.ts";
import { type LeaseHolder, receiptOf } from "../../domain/predictions/lease.ts";
import { waitsAgain } from "../../domain/predictions/state.ts";
import { exceededBound, isDeeper, type JsonBounds } from "../../lib/json-scan.ts";
import { memberFrom, oneLineJson } from "../../lib/json-text.ts";
import { logger } from "../../log.ts";
import {
  CLOSE,
  type EventsFrame,
  type Finish,
  FRAME_BOUNDS,
  type ReleaseFrame,
  type ReportReply,
  type UpFrame,
  upFrame,
} from "../../protocol/channel.ts";
import { MAX_NOTES, MAX_OUTPUTS } from "../../protocol/event.ts";
import type { Limits } from "../../protocol/runner.ts";
import { close, fence, send } from "./channels.ts";
import type { Effects } from "./effects.ts";
import { attemptOf } from "./lease-holder.ts";
import {
  type EncodedEvent,
  encodeEvents,
  type LogTotals,
  MAX_FRAME_UNITS,
  unitsOf,
  writtenEvents,
} from "./log-events.ts";
import { areStored } from "./reads.ts";
import type { PredictionRecord } from "./record.ts";

/**
 * A text of this length cannot have too many values, and is parsed quickly however deep it is: its depth is
 * measured afterwards, where there is any. Scanning a frame of tokens took a sixth of the time of all other
 * work.
 */
const SMALL_UNITS = 64 * 1024;

/** A frame, an array of events and an event are around each value. */
const VALUE_DEPTH = FRAME_BOUNDS.depth - 3;

/**
 * Line breaks: JSON allows some between values, and readers take others for the end of a line inside of one.
 */
const LINE_BREAKS = /[\n\r\u0085\u2028\u2029]/;

/** The runner enforces the limits exactly; here an event's envelope must not count. */
const LIMIT_TOLERANCE = 1.1;

const TOO_MUCH = "The runner sent more than a prediction may have.";
const TOO_DEEP = "The runner sent a value that is nested too deeply.";
const NOT_STORED = "The runner reported a value that it has not stored.";
const TOO_MANY = "The runner sent more values than a frame may have.";

export class RunnerConnection {
  readonly #effects: Effects;
  readonly #patience: Patience;
  readonly #files: R2Bucket;
  /** The values that runners have named as stored in R2, since the object was started. */
  readonly #named = new Set<string>();

  constructor(effects: Effects, patience: Patience, files: R2Bucket) {
    this.#effects = effects;
    this.#patience = patience;
    this.#files = files;
  }

  async connect(record: PredictionRecord | undefined, holder: LeaseHolder): Promise<Response> {
    const attempt = record && (await attemptOf(record, holder));
    if (!attempt || !this.#confirm(record, attempt)) {
      return new Response("The attempt has ended.", { status: 409 });
    }
    const { channels, writer } = this.#effects;
    const { life } = record;
    const { number, secret } = attempt;
    const welcome = {
      attempt: number,
      seq: writer.settle(record, number),
      flush_ms: writer.flushInterval(record),
      receipt: receiptOf(secret),
    };
    const response = channels.accept(welcome, holder, Date.now());
    if (life.attempts.channelOpened(number)) record.save();
    // The prediction may have ended by this runner's own last frame, whose ack was lost: the welcome's `seq`
    // says so.
    if (life.terminal) channels.fence(`the prediction is ${life.state.status}`);
    else if (life.state.cancel_requested_at !== null) this.#effects.sendCancel(record, "canceled");
    return response;
  }

  /**
   * Confirms the attempt whose runner has connected: the first of two keeps the job.
   * @returns whether the runner may go on, also if the prediction has ended by the runner's own last frame
   */
  #confirm(record: PredictionRecord, attempt: Attempt): boolean {
    const { life } = record;
    this.#effects.owed(record);
    const dismissed = life.attempts.resolveDismissed(attempt.number);
    if (dismissed) this.#effects.reportDismissed(record, attempt);
    if (dismissed || life.confirmAttempt(attempt.number)) this.#effects.commit(record);
    return !dismissed || life.state.attempt?.number === attempt.number;
  }

  async receive(
    record: PredictionRecord | undefined,
    socket: WebSocket,
    message: string | ArrayBuffer,
  ): Promise<void> {
    const parsed = parseFrame(message);
    if (parsed === "depth") return this.#refuse(record, socket, TOO_DEEP);
    if (parsed === "values") return this.#refuse(record, socket, TOO_MANY);
    if (!parsed) return close(socket, CLOSE.badFrame, "not a frame of the channel's protocol");
    const attempt = this.#effects.channels.attemptOf(socket);
    if (this.#namesTooMany(record, attempt, parsed))
      return this.#refuse(record, socket, NOT_STORED);
    const checking = this.#isChecked(parsed) ? this.#checked(record, parsed) : undefined;
    const frame = checking ? await checking : parsed;
    const reply = this.#take(record, attempt, frame);
    switch (reply?.type) {
      case "refused":
        return close(socket, CLOSE.badFrame, reply.reason);
      case "fenced":
        return fence(socket, reply.reason);
      case "ack":
        return send(socket, reply);
    }
  }

  /** Takes the only frame of a run that ended before it opened a channel. */
  async report(
    record: PredictionRecord | undefined,
    holder: LeaseHolder,
    message: string,
  ): Promise<ReportReply> {
    const frame = parseFrame(message);
    // A frame that exceeds the bounds is only refused here; over a channel it ends the run.
    if (typeof frame !== "object" || frame.type !== "events")
      return { type: "refused", reason: "This is not a frame with events." };
    const attempt = record && (await attemptOf(record, holder));
    if (!attempt || !this.#confirm(record, attempt)) {
      return { type: "fenced", reason: "the attempt has ended" };
    }
    const { number } = attempt;
    if (this.#namesTooMany(record, number, frame)) {
      this.#fail(record, number, NOT_STORED);
      return { type: "fenced", reason: NOT_STORED };
    }
    const checked = this.#isChecked(frame) ? await this.#checked(record, frame) : frame;
    const refused = this.#take(record, number, checked);
    await this.#effects.ending;
    // Callers that wait for the end are answered first: 5 % of the time of a no-op where both share a thread.
    await scheduler.wait(0);
    const reply = refused ?? {
      type: "ack" as const,
      seq: this.#effects.writer.settle(record, number),
    };
    return { ...reply, receipt: receiptOf(attempt.secret) };
  }

  /**
   * Remembers the values that a frame names. At the end of the run, each value that is missing costs a write
   * to R2.
   * @returns whether they are more than the attempt has stored
   */
  #namesTooMany(record: PredictionRecord | undefined, number: number, frame: ReadFrame): boolean {
    if (frame.type !== "events" || !record?.life.acceptsFrom(number)) return false;
    for (const { event, data } of frame.events) if (event === "stored") this.#named.add(data.name);
    const attempt = record.life.attempts.expected.find((one) => one.number === number);
    return this.#named.size > (attempt?.stored ?? 0) + STORED_SAVE_INTERVAL;
  }

  /** @returns whether a frame ends a run that has named any value */
  #isChecked(frame: ReadFrame): frame is ReadEvents & { finish: Finish } {
    return frame.type === "events" && frame.finish !== undefined && this.#named.size > 0;
  }

  /** Turns the end of a run whose values are missing into its failure. */
  async #checked(
    record: PredictionRecord | undefined,
    frame: ReadEvents & { finish: Finish },
  ): Promise<ReadEvents> {
    if (!record) return frame;
    const { id } = record.life.spec;
    const there = await areStored(this.#files, id, this.#named).catch((error) => {
      logger.warn("Values of a prediction not checked", { prediction_id: id, error });
      return true;
    });
    const error = { source: "internal" as const, message: NOT_STORED };
    return there ? frame : { ...frame, finish: { ...frame.finish, status: "failed", error } };
  }

  /** @returns the reply to be sent now: a frame that is taken is acknowledged when it is stored */
  #take(
    record: PredictionRecord | undefined,
    attempt: number,
    frame: ReadFrame,
  ): ReportReply | undefined {
    if (!record) return { type: "fenced", reason: "the prediction has been deleted" };
    const { log, life } = record;
    const lastSeq = log.seqOf(attempt);
    if (frame.type === "events" && frame.seq <= lastSeq) {
      const seq = log.storedSeqOf(attempt);
      return frame.seq <= seq ? { type: "ack", seq } : undefined;
    }
    if (!life.acceptsFrom(attempt)) {
      return { type: "fenced", reason: `attempt ${attempt} has ended` };
    }
    const now = Date.now();
    this.#effects.channels.seen(now);
    if (frame.type === "release") {
      this.#release(record, frame, now);
      return undefined;
    }
    if (frame.seq !== lastSeq + 1) {
      return { type: "refused", reason: `frame ${lastSeq + 1} comes next, not ${frame.seq}` };
    }
    this.#append(record, frame, attempt, now);
    return undefined;
  }

  /** Ends a run whose frame exceeds the bounds: sending it again would not help. */
  #refuse(record: PredictionRecord | undefined, socket: WebSocket, message: string): void {
    if (record) this.#fail(record, this.#effects.channels.attemptOf(socket), message);
    fence(socket, message);
  }

  #fail(record: PredictionRecord, attempt: number, message: string): void {
    if (!record.life.acceptsFrom(attempt)) return;
    record.life.fail("internal", message, Date.now());
    this.#effects.commit(record);
  }

  /** Notes that a channel has closed: the lease counts from here, unless another channel has replaced it. */
  disconnected(record: PredictionRecord | undefined, socket: WebSocket): void {
    const { channels } = this.#effects;
    if (!record?.life.acceptsFrom(channels.attemptOf(socket))) return;
    if (channels.isReplaced(socket)) return;
    record.life.attempts.channelClosed(Date.now());
    record.save();
  }

  leaseExpired(record: PredictionRecord, now: number): void {
    const { life, log } = record;
    const { attempt } = life.state;
    const { channels } = this.#effects;
    if (!attempt) return;
    if (channels.open(attempt.number) === null) {
      const lastSeenAt = seenBeforeRestart(log.lastFrameAt(attempt.number), now, this.#patience);
      if (life.attempts.grantGrace(lastSeenAt)) return record.save();
    }
    this.#lose(record, "the lease has expired", now);
  }

  /**
   * Closes the channel when the token of its runner is revoked. While `lookUp` fails the run goes on, and the
   * token is looked up again 10 s later.
   */
  async checkToken(
    record: PredictionRecord,
    lookUp: (tokenId: string) => Promise<number | undefined>,
  ): Promise<void> {
    const { number } = record.life.state.attempt ?? { number: 0 };
    const { channels } = this.#effects;
    const channel = channels.open(number);
    if (!channel) return;
    const knownAt = await lookUp(channel.token_id).catch((error) => {
      logger.warn("Runner token not checked", { prediction_id: record.life.spec.id, error });
      return Date.now();
    });
    if (knownAt !== undefined) return channels.renewToken(number, knownAt);
    if (record.life.acceptsFrom(number))
      this.#lose(record, "the runner token is revoked", Date.now());
  }

  #lose(record: PredictionRecord, reason: string, now: number): void {
    record.life.lose(record.produced, now);
    this.#retryOrEnd(record, reason, now);
  }

  #release(record: PredictionRecord, frame: ReleaseFrame, now: number): void {
    const { life } = record;
    if (!frame.start_failed) {
      life.release(record.produced, now);
      return this.#retryOrEnd(record, "handed back", now);
    }
    life.failStart(record.produced, frame.reason, now);
    this.#effects.reportFailedStart(record, frame.reason, now);
    if (waitsAgain(life.state)) this.#effects.row.writeUnderWay(record);
  }

  #retryOrEnd(record: PredictionRecord, reason: string, now: number): void {
    if (!record.life.waiting) return this.#effects.commit(record);
    this.#effects.channels.fence(reason);
    this.#effects.dispatch(record, now);
    if (waitsAgain(record.life.state)) this.#effects.row.writeUnderWay(record);
  }

  #append(record: PredictionRecord, frame: ReadEvents, attempt: number, now: number): void {
    const { life, log } = record;
    const reported = encodeEvents(frame.events, frame.texts);
    life.start(now);
    const own = life.takeEvents();
    log.addOwn(encodeEvents(own), attempt);
    const started = own.length > 0 ? record.webhookEvent("started", now) : undefined;
    let changed = started !== undefined || frame.finish !== undefined;
    for (const { event, data } of frame.events) {
      if (event === "metrics") life.mergeMetrics(data);
      if (event === "setup" && data.phase === "ready") life.markReady(data.seconds, now);
      changed ||= event === "metrics" || event === "setup";
    }
    const totals = log.totalsWith(attempt, frame.seq, reported);
    if (exceedsLimits(reported, totals, life.spec.limits)) {
      life.fail("internal", TOO_MUCH, now);
      return this.#effects.commit(record, { started });
    }
    log.add(reported, totals);
    if (record.outputs > 0 && life.noteOutput(now)) changed = true;
    if (frame.finish) life.finish(frame.finish, now);
    if (frame.finish?.description) this.#effects.described(record, frame.finish.description);
    const finished = frame.finish !== undefined;
    // After a restart a later attempt's first frame could not be told from that of an earlier one.
    const held = started !== undefined && attempt > 1;
    this.#effects.commit(record, { changed, finished, held, started });
    // A prediction that has ended gets no such row: a timer keeps the object awake, and 2 s cost $3.20 a
    // million.
    if (started && !life.terminal) this.#effects.row.writeUnderWay(record);
  }
}

const exceedsLimits = (
  events: EncodedEvent[],
  { outputs, notes, output_bytes, logs_bytes }: LogTotals,
  limits: Limits,
): boolean =>
  unitsOf(events) > MAX_FRAME_UNITS ||
  outputs > MAX_OUTPUTS ||
  notes > MAX_NOTES * LIMIT_TOLERANCE ||
  output_bytes > limits.output_bytes * LIMIT_TOLERANCE ||
  logs_bytes > limits.logs_bytes * LIMIT_TOLERANCE;

/** A frame with events, and the JSON of each one's data. */
type ReadEvents = EventsFrame & { texts: string[] };

type ReadFrame = ReadEvents | Exclude<UpFrame, EventsFrame>;

/** @returns the bound that the frame exceeds; undefined when the message is no frame */
export function parseFrame(
  message: string | ArrayBuffer,
): ReadFrame | keyof JsonBounds | undefined {
  if (typeof message !== "string") return undefined;
  const isSmall = message.length <= SMALL_UNITS;
  const exceeded = isSmall ? undefined : exceededBound(message, FRAME_BOUNDS);
  if (exceeded) return exceeded;
  try {
    const frame = upFrame.parse(JSON.parse(message));
    if (isSmall && isDeep(frame)) return "depth";
    return frame.type === "events" ? { ...frame, texts: textsOf(frame, message) } : frame;
  } catch {
    return undefined;
  }
}

function isDeep(frame: UpFrame): boolean {
  if (frame.type !== "events") return false;
  const { events, finish } = frame;
  return (
    isDeeper(finish?.error?.detail, VALUE_DEPTH) ||
    events.some(({ data }) => isDeeper(data, VALUE_DEPTH))
  );
}

/** The data of each event as it was written: an output has all of its digits. */
function textsOf({ events }: EventsFrame, message: string): string[] {
  const text = LINE_BREAKS.test(message) ? oneLineJson(message) : message;
  const written = writtenEvents(text, memberFrom(text, "events")) ?? [];
  const isWhole =
    written.length === events.length && written.every(({ event }, n) => event === events[n]?.event);
  return isWhole ? written.map(({ json }) => json) : encodeEvents(events).map(({ json }) => json);
}
