/** Predictions whose create is answered with their stream, by one who leaves and resumes. */
import { z } from "zod";
import type { Event, MadeCall } from "../history.ts";
import type { Work } from "../plan/calls.ts";
import { attend } from "./attend.ts";
import type { Ground } from "./ground.ts";
import { createAndAttend } from "./plain.ts";
import { eventsOf, follow } from "./reader.ts";

type Stream = Extract<Work, { kind: "stream" }>;

const first = z.object({ prediction: z.object({ id: z.uuid() }) });

/** How the reader who creates it behaves, when no plan says. */
const STAYS = { stays: [7, 0, 20], away: 200 };

export async function callStream(ground: Ground, made: MadeCall, work: Stream): Promise<void> {
  const { call } = made;
  const { tokens: max_tokens, every: delay_ms, text: seed } = work;
  const input = { max_tokens, delay_ms, seed, mark: call.mark };
  const body = { model: ground.modelOf(made.call, "story"), input };
  // Under a key it is created without its stream, and read by the plan's readers alone.
  if (call.parallel) return createAndAttend(ground, made, body);
  made.sent++;
  const client = ground.clientOf(call);
  const signal = ground.over;
  const events = client.events("POST", "/predictions", { signal, body: { ...body, stream: true } });
  const opened = await open(events).catch(() => undefined);
  // What came of it, nobody can tell.
  if (!opened) return;
  const { id } = opened;
  ground.recorder.accepted(made, id);
  const log = eventsOf(ground, client, id, "creator", call.n % 2 === 0);
  await Promise.all([
    follow(ground, log, call.readers[0] ?? STAYS, opened.stream),
    attend(ground, made, id),
  ]);
}

/** The first event names the prediction. */
async function open(
  events: AsyncGenerator<Event>,
): Promise<{ id: string; stream: AsyncGenerator<Event> }> {
  const { value, done } = await events.next();
  if (done) throw new Error("a stream without events");
  const { id } = first.parse(value.data).prediction;
  return {
    id,
    stream: (async function* () {
      yield value;
      yield* events;
    })(),
  };
}
