/** Look-ups of predictions by operators. */
import { expect } from "vitest";
import type { PredictionSearch } from "../../../src/protocol/operator.ts";
import { eventually } from "./eventually.ts";
import { rowOf } from "./objects.ts";
import { newWorld, operator } from "./world.ts";

export const SECRET = "the-secret-of-the-prompt";

export async function ended() {
  const world = await newWorld();
  const id = await world.waiting({ prompt: SECRET });
  const runner = await world.runner();
  const { channel } = await runner.work();
  await channel.report([{ event: "output", data: SECRET }], {
    status: "succeeded",
    output: "value",
    setup_seconds: 1.5,
    execution_seconds: 0.25,
  });
  await eventually(async () => expect((await rowOf(id))?.status).toBe("succeeded"));
  return { world, id, runner };
}

export const ofUser = (username: string, id: string) =>
  `/v1/operator/users/${username}/predictions/${id}`;

export const ofAnybody = (id: string) => `/v1/operator/predictions/${id}`;

export const search = (id: string) => operator.ok<PredictionSearch>("GET", ofAnybody(id));

export const NOT_FOUND = { found: null, unanswered: [], next_cursor: null, next_url: null };
