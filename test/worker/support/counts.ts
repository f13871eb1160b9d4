/** Counts of a model's runs, as its page shows them. */
import type { Model } from "../../../src/protocol/model.ts";
import { tellCounts } from "./objects.ts";
import type { World } from "./world.ts";

export const publicCountOf = async ({ client, model }: World) =>
  (await client.ok<Model>("GET", `/v1/models/${model}`)).predictions_count;

export async function countOf(world: World): Promise<number> {
  await tellCounts();
  return publicCountOf(world);
}
