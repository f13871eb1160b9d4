/** Chat completions, streamed and not, of callers some of whom leave before the end. */
import { EventSourceParserStream } from "eventsource-parser/stream";
import { z } from "zod";
import type { MadeCall } from "../history.ts";
import type { Call, Work } from "../plan/calls.ts";
import type { Answer } from "./ask.ts";
import { isLosing } from "./changes.ts";
import { create, keyOf, webhookOf } from "./create.ts";
import type { Ground } from "./ground.ts";
import { attendAll } from "./plain.ts";

type Chat = Extract<Work, { kind: "chat" }>;

const PATH = "/vendora/chat/completions";
const NAME = "auspex-prediction-id";
/** Longer than any chat of a plan, ms. */
const TIMEOUT_MS = 60_000;
const LEAVES_AFTER_MS = 500;

const whole = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
});
const chunk = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }) })),
});

/** Returns the words of a chat or a response, which its input makes the oracle say. */
export const wordsOf = ({ mark }: Call, words: number) =>
  Array.from({ length: words }, (_, n) => `${mark}${n} `);

export const idIn = ({ headers }: Pick<Answer, "headers">) => headers.get(NAME) ?? undefined;

export async function callChat(ground: Ground, made: MadeCall, work: Chat): Promise<void> {
  const { call } = made;
  const script = { say: wordsOf(call, work.words), every: work.every, mark: call.mark };
  const messages = [{ role: "user", content: JSON.stringify(script) }];
  const body = { model: ground.modelOf(made.call, "oracle"), messages };
  if (work.streamed) await stream(ground, made, work, { ...body, stream: true });
  else {
    const [answer] = await create(ground, made, { path: PATH, body, idIn });
    if (answer?.status === 200) {
      made.heard = whole.parse(JSON.parse(answer.text)).choices[0].message.content;
    }
  }
  await attendAll(ground, made);
}

/** Streams a chat. With a key, the call is repeated until it is read to its end. */
async function stream(
  ground: Ground,
  made: MadeCall,
  { leaves }: Chat,
  body: object,
): Promise<void> {
  const { parallel } = made.call;
  do {
    const leave = leaves ? [AbortSignal.timeout(LEAVES_AFTER_MS)] : [];
    const signal = AbortSignal.any([ground.over, AbortSignal.timeout(TIMEOUT_MS), ...leave]);
    const heard = await listen(ground, made, body, signal).catch(() => undefined);
    if (heard !== undefined) {
      if (heard.isWhole) made.heard = heard.text;
      return;
    }
  } while (parallel && !leaves && !ground.over.aborted && !isLosing(ground, made.call));
}

/** @throws when the stream broke off or was not accepted */
async function listen(
  ground: Ground,
  made: MadeCall,
  body: object,
  signal: AbortSignal,
): Promise<{ text: string; isWhole: boolean }> {
  made.sent++;
  const response = await ground.clientOf(made.call).fetch("POST", PATH, {
    body: { ...body, ...webhookOf(ground, made) },
    signal,
    ...(made.call.parallel && { headers: { "idempotency-key": keyOf(made) } }),
  });
  const id = idIn(response);
  if (id === undefined) throw new Error(`refused: ${response.status}`);
  ground.recorder.accepted(made, id);
  if (!response.ok) return { text: await response.text(), isWhole: false };
  const events = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  let text = "";
  for await (const { data } of events ?? []) {
    if (data === "[DONE]") return { text, isWhole: true };
    const json: unknown = JSON.parse(data);
    if (typeof json === "object" && json !== null && "error" in json)
      return { text, isWhole: false };
    for (const { delta } of chunk.parse(json).choices) text += delta.content ?? "";
  }
  throw new Error("it ended without an end");
}
