/** Readers of a log that leave, are cut off, and resume. */
import { z } from "zod";
import { CallFailed } from "../../../src/dev/client.ts";
import type { ConnectionEnd, Event, MadeCall, Reading } from "../history.ts";
import type { ReaderPlan } from "../plan/calls.ts";
import type { Caller } from "../plan/teams.ts";
import { RETRIED } from "./ask.ts";
import { type Ground, longerEachTime, pause } from "./ground.ts";

/** The time without an event after which a reader connects again, ms. */
const SILENT_MS = 8_000;
export const RETRY_MS = 100;

const first = z.object({ prediction: z.object({ id: z.uuid() }) });

/** Returns the ID in the first event of a log; a log without one is noted as an oddity. */
export function idIn({ data }: Event, { recorder }: Ground, { call: { n } }: MadeCall) {
  const id = first.safeParse(data).data?.prediction.id;
  if (id === undefined)
    recorder.odd({ what: "the first event of a stream", answer: JSON.stringify(data), n });
  return id;
}

export interface Log {
  reading: Reading;
  /** Opens a connection with all events after this one. */
  open(after: number, signal: AbortSignal): AsyncIterable<Event>;
  isLast(event: Event): boolean;
  /** Called when a stream has ended without a last event, as that of a cancelled response does. */
  isOver?(): Promise<boolean>;
}

type Stays = Pick<ReaderPlan, "stays" | "away">;

/** @param first the connection that created the prediction, if the log is read from there */
export async function follow(
  ground: Ground,
  log: Log,
  { stays, away }: Stays,
  first?: AsyncIterable<Event>,
): Promise<void> {
  const { reading } = log;
  const visits = stays.values();
  let stream = first;
  let delay = longerEachTime(RETRY_MS);
  while (!reading.complete && !ground.over.aborted) {
    const stay = visits.next().value;
    const ended = await connect(ground, log, stay, stream);
    stream = undefined;
    if (reading.connections.at(-1)?.events) delay = longerEachTime(RETRY_MS);
    if (ended === "refused") return;
    if (ended !== "end") await pause(ground, ended === "left" ? away : delay());
    else if (!reading.complete) {
      reading.complete = (await log.isOver?.()) ?? false;
      await pause(ground, RETRY_MS);
    }
  }
}

/** Reads one connection of a log. @param stay the most events */
export async function connect(
  ground: Ground,
  { reading, open, isLast }: Log,
  stay: number | undefined,
  stream?: AsyncIterable<Event>,
): Promise<ConnectionEnd> {
  const silence = new AbortController();
  const expect = () => setTimeout(() => silence.abort(), SILENT_MS);
  let timer = expect();
  const after = reading.events.at(-1)?.id ?? 0;
  const connection: Reading["connections"][number] = {
    at: Date.now(),
    after,
    events: 0,
    ended: "end",
  };
  reading.connections.push(connection);
  try {
    for await (const event of stream ??
      open(after, AbortSignal.any([silence.signal, ground.over]))) {
      clearTimeout(timer);
      timer = expect();
      if (event.event === "problem") throw new Error(JSON.stringify(event.data));
      reading.events.push(event);
      connection.events++;
      connection.lastAt = Date.now();
      if (connection.events === stay && !isLast(event)) {
        connection.ended = "left";
        break;
      }
    }
    const last = reading.events.at(-1);
    if (connection.ended === "end" && last && isLast(last)) reading.complete = true;
  } catch (error) {
    const isRefused = error instanceof CallFailed && isFinalAnswer(error.status);
    connection.ended = isRefused ? "refused" : silence.signal.aborted ? "silent" : "broken";
    connection.why = String(error);
  } finally {
    clearTimeout(timer);
  }
  return connection.ended;
}

const isFinalAnswer = (status: number) => status < 500 && !RETRIED.includes(status);

/** Reads the events of a prediction from the first on. */
export async function readPrediction(
  ground: Ground,
  { call }: MadeCall,
  id: string,
  reader: string,
  plan: ReaderPlan,
): Promise<void> {
  await pause(ground, plan.joinsAfter);
  const log = eventsOf(ground, { ...call, ...plan }, id, reader, plan.isEventSource);
  await follow(ground, log, plan);
}

export function eventsOf(
  { recorder, clientOf }: Ground,
  caller: { by: Caller; overCable: boolean },
  id: string,
  reader: string,
  isEventSource: boolean,
): Log {
  const reading: Reading = {
    id,
    log: "events",
    reader,
    by: caller.by,
    events: [],
    connections: [],
    complete: false,
  };
  recorder.history.readings.push(reading);
  const client = clientOf(caller);
  const path = `/predictions/${id}/stream`;
  return {
    reading,
    open: (after, signal) =>
      isEventSource && after > 0
        ? client.events("GET", path, { signal, headers: { "last-event-id": String(after) } })
        : client.events("GET", `${path}?after_id=${after}`, { signal }),
    isLast: ({ event }) => event === "done",
  };
}
