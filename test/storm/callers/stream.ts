/** Predictions whose create is answered with their stream, which its reader leaves and resumes. */
import type { Event, MadeCall } from "../history.ts";
import type { Work } from "../plan/calls.ts";
import { attend } from "./attend.ts";
import type { Ground } from "./ground.ts";
import { repeatStream } from "./keyed-stream.ts";
import { eventsOf, follow, idIn } from "./reader.ts";
import { webhookOf } from "./webhook.ts";

type Stream = Extract<Work, { kind: "stream" }>;

/** The behaviour of the reader that creates the prediction, if the plan has none. */
const STAYS = { stays: [7, 0, 20], away: 200 };

export async function callStream(ground: Ground, made: MadeCall, work: Stream): Promise<void> {
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
  const log = eventsOf(ground, client, id, "creator", call.n % 2 === 0);
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
