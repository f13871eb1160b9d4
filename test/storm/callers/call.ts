/** The execution of a call of the plan, to its end. */
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Event, MadeCall, Reading } from "../history.ts";
import type { Call, ReaderPlan, Work } from "../plan/calls.ts";
import { attend } from "./attend.ts";
import { isLosing } from "./changes.ts";
import { callChat, idIn as idInHeaders } from "./chat.ts";
import { create, keyOf, STAGGER_MS, webhookOf } from "./create.ts";
import { type Ground, longerEachTime, pause } from "./ground.ts";
import { abandon, callPicture } from "./picture.ts";
import { attendAll, callPlain } from "./plain.ts";
import { connect, eventsOf, follow, idIn, type Log, RETRY_MS } from "./reader.ts";
import { callResponse } from "./response.ts";

/** Resolves when all calls are over. */
export async function callAll(ground: Ground, calls: Call[]): Promise<void> {
  const began = Date.now();
  await Promise.all(
    calls.map(async (call) => {
      await sleep(Math.max(0, began + call.at - Date.now()));
      await carryOut(ground, call);
    }),
  );
}

function carryOut(ground: Ground, call: Call): Promise<void> {
  const made = ground.recorder.begin(call);
  const { work } = call;
  ground.recorder.note("call", { call: call.n, kind: work.kind });
  switch (work.kind) {
    case "hello":
    case "sums":
    case "large":
      return callPlain(ground, made, work);
    case "stream":
      return callStream(ground, made, work);
    case "chat":
      return callChat(ground, made, work);
    case "response":
      return callResponse(ground, made, work);
    case "embedding":
      return callEmbedding(ground, made);
    case "picture":
      return callPicture(ground, made, work);
    case "abandoned":
      return abandon(ground, made, work.bytes);
  }
}

const PATH = "/vendora/embeddings";

const vector = z.object({ embedding: z.array(z.number()).min(1) });
const pair = z.object({ data: z.tuple([vector, vector]) });

async function callEmbedding(ground: Ground, made: MadeCall): Promise<void> {
  const { mark, n } = made.call;
  const body = { model: ground.modelOf(made.call, "embeddings"), input: [mark, mark] };
  for (const { status, text } of await create(ground, made, {
    path: PATH,
    body,
    idIn: idInHeaders,
  })) {
    if (status !== 200) continue;
    const { data } = pair.safeParse(JSON.parse(text));
    if (!data || !isDeepStrictEqual(data.data[0], data.data[1]))
      ground.recorder.odd({ what: "two embeddings of one text", answer: text, n });
  }
  await attendAll(ground, made);
}

type Stream = Extract<Work, { kind: "stream" }>;

/** The behaviour of the reader that creates the prediction, if the plan has none. */
const STAYS = { stays: [7, 0, 20], away: 200 };

async function callStream(ground: Ground, made: MadeCall, work: Stream): Promise<void> {
  const { call } = made;
  const { tokens: max_tokens, every: delay_ms, text: seed } = work;
  const input = { max_tokens, delay_ms, seed, mark: call.mark };
  const model = ground.modelOf(call, "text-generation");
  const body = { model, input, stream: true, ...webhookOf(ground, made) };
  const plan = call.readers[0] ?? STAYS;
  if (call.parallel) return repeatStream(ground, made, body, plan);
  made.sent++;
  const client = ground.clientOf(call);
  const events = client.events("POST", "/predictions", { signal: ground.over, body });
  const opened = await open(events).catch(() => undefined);
  // The outcome of a create that broke off is unknown.
  if (!opened) return;
  const id = idIn(opened.first, ground, made);
  if (id === undefined) return;
  ground.recorder.accepted(made, id);
  const log = eventsOf(ground, call, id, "creator", call.n % 2 === 0);
  await Promise.all([follow(ground, log, plan, opened.stream), attend(ground, made, id)]);
}

async function open(
  events: AsyncGenerator<Event>,
): Promise<{ first: Event; stream: AsyncGenerator<Event> }> {
  const { value, done } = await events.next();
  if (done) throw new Error("a stream without events");
  return {
    first: value,
    stream: (async function* () {
      yield value;
      yield* events;
    })(),
  };
}

type Stays = Pick<ReaderPlan, "stays" | "away">;

/** The most streams at once: each costs as much as a caller. */
const MOST_AT_ONCE = 2;

/**
 * Reads as many streams at once as the plan says, each to the end. The caller that gets the ID attends the
 * prediction.
 */
async function repeatStream(
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
    const reading = newReading(reader, made.call);
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
      if (!isLosing(ground, made.call))
        recorder.odd({ what: "a repeated stream", answer, n: made.call.n });
      return;
    }
    await pause(ground, ended === "left" ? away : delay());
  }
}

const newReading = (reader: string, { by }: Call): Reading => ({
  id: "",
  log: "events",
  reader,
  by,
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
