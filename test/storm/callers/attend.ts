/** The attendance of a prediction from its accept to its end: it is polled, read and cancelled. */
import type { MadeCall } from "../history.ts";
import { isFinal } from "../state.ts";
import { ask, insist } from "./ask.ts";
import { isLosing } from "./changes.ts";
import { type Ground, longerEachTime, pause } from "./ground.ts";
import { readPrediction } from "./reader.ts";

const POLL_MS = 700;
/** The time after the end of a final poll, ms: the prediction must not have changed. */
const LATER_MS = 3_000;

export async function attend(ground: Ground, made: MadeCall, id: string): Promise<void> {
  const { call } = made;
  await Promise.all([
    poll(ground, made, id),
    call.cancelAfter !== undefined && cancel(ground, made, id, call.cancelAfter),
    ...call.readers.map((plan, n) => readPrediction(ground, made, id, `reader ${n}`, plan)),
  ]);
}

async function poll(ground: Ground, made: MadeCall, id: string): Promise<void> {
  const path = `/predictions/${id}`;
  const look = async () => {
    const answer = await ask(ground, made, "GET", path);
    if (answer?.status === 200) return ground.recorder.sighting("get", answer.askedAt, answer.text);
    if (answer && answer.status < 500 && answer.status !== 429) {
      const text = `${answer.status}: ${answer.text}`;
      ground.recorder.odd({ what: `GET ${path}`, answer: text, id, n: made.call.n });
    }
    return undefined;
  };
  const delay = longerEachTime(POLL_MS);
  while (!ground.over.aborted) {
    const prediction = await look();
    if (prediction ? isFinal(prediction) : isLosing(ground, made.call)) break;
    await pause(ground, delay());
  }
  await pause(ground, LATER_MS);
  await look();
}

async function cancel(ground: Ground, made: MadeCall, id: string, after: number): Promise<void> {
  await pause(ground, after);
  const answer = await insist(ground, made, "POST", `/predictions/${id}/cancel`);
  if (!answer) return;
  made.cancels.push({ id, status: answer.status, at: Date.now() });
  ground.recorder.note("cancel", { call: made.call.n, id, status: answer.status });
}
