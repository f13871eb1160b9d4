/**
 * Streams that are created with a key: a caller that is cut off repeats the create and reads from the
 * beginning.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Event, MadeCall, Reading } from "../history.ts";
import type { ReaderPlan } from "../plan/calls.ts";
import { attend } from "./attend.ts";
import { keyOf, STAGGER_MS } from "./create.ts";
import { type Ground, longerEachTime, pause } from "./ground.ts";
import { connect, idIn, type Log, RETRY_MS } from "./reader.ts";

type Stays = Pick<ReaderPlan, "stays" | "away">;

/** The most streams at once: each costs as much as a caller. */
const MOST_AT_ONCE = 2;

/**
 * Reads as many streams at once as the plan says, each to the end. The caller that gets the ID attends the
 * prediction.
 */
export async function repeatStream(
  ground: Ground,
  made: MadeCall,
  body: object,
  plan: Stays,
): Promise<void> {
  const attended = new Map<string, Promise<void>>();
  const accept = (id: string) => {
    ground.recorder.accepted(made, id);
    if (!attended.has(id)) attended.set(id, attend(ground, made, id));
  };
  const length = Math.min(made.call.parallel ?? 1, MOST_AT_ONCE);
  const readers = Array.from({ length }, async (_, n) => {
    await sleep(n * STAGGER_MS);
    await readToEnd(ground, made, { body, plan, reader: `creator ${n}`, accept });
  });
  await Promise.all(readers);
  await Promise.all(attended.values());
}

interface Repeated {
  body: object;
  plan: Stays;
  reader: string;
  accept(id: string): void;
}

/**
 * Reads a stream to its end. Each try reads from the first event on: it must be the same prediction, and the
 * same log.
 */
async function readToEnd(
  ground: Ground,
  made: MadeCall,
  { body, plan: { stays, away }, reader, accept }: Repeated,
): Promise<void> {
  const { recorder } = ground;
  const visits = stays.values();
  let last: Reading | undefined;
  let delay = longerEachTime(RETRY_MS);
  while (!ground.over.aborted) {
    const reading = newReading(reader);
    const ended = await connect(ground, logOf(ground, made, body, reading), visits.next().value);
    const [first] = reading.events;
    const id = first && idIn(first, ground, made);
    if (first && id === undefined) return;
    if (id !== undefined) {
      reading.id = id;
      recorder.history.readings.push(reading);
      accept(id);
      delay = longerEachTime(RETRY_MS);
      // A reading that ended by itself has broken a promise, and stays as it is.
      if (last && last.connections[0]?.ended !== "end") last.given_up = true;
      last = reading;
    }
    if (reading.complete) return;
    if (ended === "refused") {
      const answer = reading.connections[0]?.why ?? "";
      recorder.odd({ what: "a repeated stream", answer, n: made.call.n });
      return;
    }
    await pause(ground, ended === "left" ? away : delay());
  }
}

const newReading = (reader: string): Reading => ({
  id: "",
  log: "events",
  reader,
  events: [],
  connections: [],
  complete: false,
});

function logOf(ground: Ground, made: MadeCall, body: object, reading: Reading): Log {
  const client = ground.clientOf(made.call);
  const headers = { "idempotency-key": keyOf(made) };
  return {
    reading,
    open(_, signal): AsyncIterable<Event> {
      made.sent++;
      return client.events("POST", "/predictions", { body, headers, signal });
    },
    isLast: ({ event }) => event === "done",
  };
}
