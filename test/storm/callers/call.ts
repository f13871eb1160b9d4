/** The execution of a call of the plan, to its end. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../plan/calls.ts";
import { callChat } from "./chat.ts";
import { callEmbedding } from "./embedding.ts";
import type { Ground } from "./ground.ts";
import { abandon, callPicture } from "./picture.ts";
import { callPlain } from "./plain.ts";
import { callResponse } from "./response.ts";
import { callStream } from "./stream.ts";

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
