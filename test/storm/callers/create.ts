/** Creates of predictions: a single one, or with one key any number of tries, several at once. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Webhook } from "../../../src/protocol/webhook.ts";
import type { MadeCall } from "../history.ts";
import { type Answer, ask, insist, RETRIED } from "./ask.ts";
import type { Ground } from "./ground.ts";

interface Creation {
  path: string;
  body: object;
  prefer?: string;
  /** Returns the ID of the prediction that an answer names, if any. */
  idIn: (answer: Answer) => string | undefined;
}

/** The time between two sends with one key, ms: some meet each other, some the first one's end. */
export const STAGGER_MS = 40;

/** The status of a budget that does not allow the prediction. */
const EXHAUSTED = 402;

/** Returns the key of a call: the same at each try. Callers use each other's keys. */
export const keyOf = ({ call }: MadeCall) =>
  createHash("sha256").update(`key ${call.key}`).digest("hex").slice(0, 32);

/** @returns the answers that named a prediction */
export async function create(
  ground: Ground,
  made: MadeCall,
  { path, body, prefer, idIn }: Creation,
): Promise<Answer[]> {
  const { parallel } = made.call;
  const request = {
    body: { ...body, ...webhookOf(ground, made) },
    headers: {
      ...(prefer && { prefer }),
      ...(parallel && { "idempotency-key": keyOf(made) }),
    },
  };
  const send = async (n: number) => {
    await sleep(n * STAGGER_MS);
    made.sent++;
    const answer = await (parallel ? insist : ask)(ground, made, "POST", path, request);
    if (!answer) return [];
    const id = idIn(answer);
    if (id !== undefined) {
      ground.recorder.accepted(made, id);
      return [answer];
    }
    // The outcome is unknown without a key; with a key, a refusal is an oddity.
    if (answer.status < 500 && !RETRIED.includes(answer.status) && answer.status !== EXHAUSTED) {
      const text = `${answer.status}: ${answer.text}`;
      ground.recorder.odd({ what: `POST ${path} refused`, answer: text, n: made.call.n });
    }
    return [];
  };
  return (await Promise.all(Array.from({ length: parallel ?? 1 }, (_, n) => send(n)))).flat();
}

export const pathOf = ({ call }: Pick<MadeCall, "call">) => `/${call.n}`;

export function webhookOf(ground: Ground, made: MadeCall): { webhook?: Webhook } {
  const { call } = made;
  if (!call.webhook) return {};
  const key = createHash("sha256").update(`secret of ${call.mark}`).digest();
  made.secret =
    call.webhook.secret === "standard" ? `whsec_${key.toString("base64")}` : key.toString("hex");
  ground.scriptReceiver(pathOf(made), call);
  return {
    webhook: {
      url: ground.receiverUrl + pathOf(made),
      secret: made.secret,
      events: call.webhook.output ? ["started", "output", "completed"] : ["started", "completed"],
    },
  };
}
