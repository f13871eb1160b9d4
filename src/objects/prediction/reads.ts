import { OpenRequest } from "../../domain/accounts/open-requests.ts";
import { sha256 } from "../../domain/accounts/token.ts";
import { MAX_CHARS } from "../../domain/predictions/display-limits.ts";
import { LogTail } from "../../domain/predictions/log-tail.ts";
import {
  NO_MOMENTS,
  type RunFacts,
  type SetupFacts,
  withEvent,
  withSetupEvent,
} from "../../domain/predictions/timeline.ts";
import { holdForRequest } from "../../lib/current-request.ts";
import type { LogEvent, StoredValue } from "../../protocol/event.ts";
import { getFile, listValues, putValue, valueKey } from "../../storage/files/files.ts";
import { contentStream, type Piece } from "../stubs/content.ts";
import { type History, LOG_TYPE, replicateViewOf } from "../stubs/prediction.ts";
import { eventsIn } from "./log-rows.ts";
import type { PredictionRecord } from "./record.ts";

/**
 * Limits how many readers take large predictions at a time: each has a row of the log in memory, keeps the
 * object awake, and may be slow.
 */

/** The most reads of one account in one isolate, whose objects share 128 MB: a row takes up to 1.2 MB. */
const MAX_READS = 50;

const READS: Record<string, (record: PredictionRecord, url: URL) => Generator<Piece>> = {
  "/content": (record) => record.content(),
  "/replicate": (record, url) => record.content(undefined, replicateViewOf(url)),
  "/output": (record) => record.wholeOutput(),
  "/log": (record) => record.logFile(),
};

/**
 * Streams a part of the prediction once all of it is durable: the body of a stream leaves the object at once.
 * @returns a 404 when it is deleted, and a 429 when the account reads as much as it may; undefined for other
 * paths
 */
export async function readResponse(
  url: URL,
  created: () => Promise<PredictionRecord | undefined>,
  storage: DurableObjectStorage,
): Promise<Response | undefined> {
  const piecesOf = READS[url.pathname];
  if (!piecesOf) return undefined;
  await created();
  await storage.sync();
  const record = await created();
  const isLog = url.pathname === "/log";
  if (!record || (isLog && record.life.dataRemoved)) return new Response(null, { status: 404 });
  const entered = OpenRequest.enter(`contents of ${record.life.spec.user_id}`, MAX_READS);
  if (!entered) return new Response(null, { status: 429 });
  const leave = holdForRequest(entered);
  return new Response(contentStream(piecesOf(record, url), leave), {
    headers: isLog
      ? { "content-type": LOG_TYPE }
      : { etag: `W/"${await sha256(record.contentVersion)}"` },
  });
}

/** Values of a prediction that are stored in R2. */

const encoder = new TextEncoder();

/** The values that are written to R2 at a time. */
const AT_ONCE = 50;

/**
 * Whether R2 has all of these values. Null is stored in place of a missing value, at which readers would
 * break off.
 */
export async function areStored(
  files: R2Bucket,
  predictionId: string,
  names: Set<string>,
): Promise<boolean> {
  const missing = new Set([...names].map((name) => valueKey(predictionId, name)));
  for await (const page of listValues(files, predictionId))
    for (const key of page) missing.delete(key);
  const keys = [...missing];
  for (let at = 0; at < keys.length; at += AT_ONCE)
    await Promise.all(
      keys.slice(at, at + AT_ONCE).map((key) => putValue(files, key, encoder.encode("null"))),
    );
  return keys.length === 0;
}

/** @returns undefined when the value does not exist */
export async function findValue(
  files: R2Bucket,
  record: PredictionRecord | undefined,
  name: string,
): Promise<ReadableStream<Uint8Array> | undefined> {
  return record && (await getFile(files, valueKey(record.life.spec.id, name)))?.body;
}

/** @throws Error when the value does not exist, although the log names it */
export async function openValue(
  files: R2Bucket,
  record: PredictionRecord | undefined,
  name: string,
): Promise<ReadableStream<Uint8Array>> {
  const found = await findValue(files, record, name);
  if (!found) throw new Error(`the value ${name} is missing`);
  return found;
}

/** The history of a prediction for the dashboard, read from its whole log. */

/** @param hasLogs whether the lines of the log are wanted, which take longest to read */
export function historyOf(record: PredictionRecord, hasLogs: boolean): History {
  const { life, log } = record;
  const tail = new LogTail();
  const values: string[] = [];
  const progress = new Progress();
  let chars = 0;
  let omitted = 0;
  let first: StoredValue | null = null;
  for (const { at: time, attempt, events, body } of log.rows()) {
    const texts = attempt === life.outputAttempt ? eventsIn(body) : [];
    for (const [n, logEvent] of events.entries()) {
      progress.add(logEvent, time);
      if (hasLogs && logEvent.event === "logs") tail.add(logEvent.data, time);
      if (hasLogs && logEvent.event === "setup") tail.add(logEvent.data.logs ?? "", time);
      if (attempt !== life.outputAttempt) continue;
      if (logEvent.event === "stored") {
        if (values.length + omitted === 0) first = logEvent.data;
        omitted += 1;
      }
      if (logEvent.event !== "output") continue;
      const json = texts[n]?.json ?? "";
      chars += json.length;
      // Once a value is omitted, all further ones are: otherwise the values would look contiguous.
      const isShown = omitted === 0 && chars <= MAX_CHARS;
      if (isShown) values.push(json);
      else omitted += 1;
    }
  }
  tail.cut();
  const input = life.dataRemoved ? null : record.input();
  const fits = typeof input === "string" && input.length <= MAX_CHARS;
  return {
    head: JSON.stringify({ ...record.present(), data_removed: life.dataRemoved }),
    model_id: life.spec.model_id,
    canceling: life.state.cancel_requested_at !== null && !life.terminal,
    last: log.stored,
    facts: progress.facts(record),
    logs: { lines: [...tail.lines], state: tail.state },
    output: { values, omitted, first },
    input: fits ? input : null,
  };
}

/** The progress of a prediction (domain/predictions/timeline.ts), read from its whole log. */

/** Gathers from the log, event by event, how far the prediction has come. */
class Progress {
  #moments = NO_MOMENTS;
  #setup: SetupFacts | null = null;

  add(event: LogEvent, at: number): void {
    this.#moments = withEvent(this.#moments, event, at);
    this.#setup = withSetupEvent(this.#setup, event, at);
  }

  get firstOutputAt(): number {
    return this.#moments.output ?? Number.POSITIVE_INFINITY;
  }

  facts(record: PredictionRecord): RunFacts {
    const { spec, state, terminal } = record.life;
    const { attempt } = state;
    const { created_at, updated_at, status, setup_time, execution_time } = record.present();
    // The log says when the runner first reported; the runner had the job since the attempt was opened.
    const started = attempt?.started_at ? attempt.opened_at : this.#moments.started;
    return {
      times: { created_at, updated_at, status, setup_time, execution_time },
      pool: spec.hardware.pool,
      hardware: spec.hardware.identifier,
      waiting_since: state.waiting_since,
      handed_at: terminal ? null : (attempt?.opened_at ?? null),
      moments: { ...this.#moments, started },
      setup: terminal ? null : this.#setup,
    };
  }
}

/** Returns the facts of a run that has ended. What comes later than the first output may be long: it is not read. */
export function pastFactsOf(record: PredictionRecord): RunFacts {
  const progress = new Progress();
  for (const { at, events } of record.log.rows()) {
    if (at > progress.firstOutputAt) break;
    for (const event of events) progress.add(event, at);
  }
  return progress.facts(record);
}

export function runFactsOf(record: PredictionRecord): RunFacts {
  const progress = new Progress();
  for (const { at, events } of record.log.rows())
    for (const event of events) progress.add(event, at);
  return progress.facts(record);
}
