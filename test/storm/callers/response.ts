/** Responses: waited for, or in the background, whose stream is resumed with starting_after. */
import { z } from "zod";
import type { Client } from "../../../src/dev/client.ts";
import type { Event, MadeCall, Reading } from "../history.ts";
import type { ReaderPlan, Work } from "../plan/calls.ts";
import { type Answer, ask } from "./ask.ts";
import { idIn, wordsOf } from "./chat.ts";
import { create } from "./create.ts";
import type { Ground } from "./ground.ts";
import { attendAll } from "./plain.ts";
import { follow, type Log } from "./reader.ts";

type Response = Extract<Work, { kind: "response" }>;

const PATH = "/vendora/responses";
const END = /^response\.(completed|incomplete|failed)$/;
const STAYS: Pick<ReaderPlan, "stays" | "away"> = { stays: [4, 30], away: 300 };

const named = z.object({ id: z.string().startsWith("resp_") });
const cancelled = z.object({ status: z.literal("cancelled") });
const isCancelled = (text: string) => cancelled.safeParse(JSON.parse(text)).success;
const numbered = z.looseObject({ sequence_number: z.int(), type: z.string() });

const completed = z.object({
  status: z.literal("completed"),
  output: z.array(z.object({ content: z.array(z.object({ text: z.string() })) })),
});

/** Returns the text of a response; undefined if it was cancelled or has failed. */
const textIn = ({ text }: Answer) =>
  completed
    .safeParse(JSON.parse(text))
    .data?.output.flatMap(({ content }) => content.map(({ text }) => text))
    .join("");

/** Returns the response's ID, which has the same UUID as the prediction's. */
const responseId = (id: string) => `resp_${id.replaceAll("-", "")}`;

export async function callResponse(ground: Ground, made: MadeCall, work: Response): Promise<void> {
  const { call } = made;
  const script = { say: wordsOf(call, work.words), every: work.every, mark: call.mark };
  const body = {
    model: ground.modelOf(made.call, "oracle"),
    input: JSON.stringify(script),
    background: work.background,
  };
  const answers = await create(ground, made, { path: PATH, body, idIn });
  if (!work.background) {
    const whole = answers.find(({ status }) => status === 200);
    if (whole) made.heard = textIn(whole);
    return attendAll(ground, made);
  }
  const id = made.accepted[0]?.id;
  if (id === undefined) return;
  checkName(ground, made, id, answers[0]);
  const log = responseLog(ground, made, id);
  await Promise.all([
    follow(ground, log, call.readers[0] ?? STAYS),
    attendAll(ground, made),
    ask(ground, made, "GET", `${PATH}/${responseId(id)}`),
  ]);
}

function checkName({ recorder }: Ground, { call }: MadeCall, id: string, answer?: Answer): void {
  if (!answer || answer.status >= 400) return;
  const name = named.parse(JSON.parse(answer.text)).id;
  if (name !== responseId(id))
    recorder.odd({
      what: "a response has another id than its prediction",
      answer: name,
      id,
      n: call.n,
    });
}

function responseLog(ground: Ground, made: MadeCall, id: string): Log {
  const client = ground.clientOf(made.call);
  const reading: Reading = {
    id,
    log: "response",
    reader: "creator",
    by: made.call.by,
    events: [],
    connections: [],
    complete: false,
  };
  ground.recorder.history.readings.push(reading);
  return {
    reading,
    open: (after, signal) =>
      responseEvents(client, id, reading.events.length === 0 ? -1 : after, signal),
    isLast: ({ event }) => END.test(event),
    isOver: async () => {
      const answer = await ask(ground, made, "GET", `${PATH}/${responseId(id)}`);
      return answer?.status === 200 && isCancelled(answer.text);
    },
  };
}

/** Yields the events of a response with their numbers. @param after -1: all events */
export async function* responseEvents(
  client: Client,
  id: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Event> {
  const query = after < 0 ? "" : `&starting_after=${after}`;
  const path = `${PATH}/${responseId(id)}?stream=true${query}`;
  for await (const { data } of client.events("GET", path, { signal })) {
    const event = numbered.safeParse(data).data;
    // An error on the stream is not an event of the response.
    if (!event || event.type === "error") throw new Error(JSON.stringify(data));
    yield { id: event.sequence_number, event: event.type, data: event };
  }
}
