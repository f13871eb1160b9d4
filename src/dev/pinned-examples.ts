/** Pinned examples of the example models of `npm start`: a run of each, pinned once. */
import { pageOf } from "../protocol/common.ts";
import { example } from "../protocol/example.ts";
import { predictionWithIO } from "../protocol/prediction.ts";
import type { Client } from "./client.ts";

const TIMEOUT_MS = 60_000;

/** Inputs by the name of the model. */
const INPUTS: Record<string, object> = {
  image: { prompt: "A red sunset over snowy mountains, with a lake", num_outputs: 4, seed: 3 },
  embeddings: { input: ["A cat sleeps", "A kitten naps", "The king's army marches"] },
  "text-generation": { prompt: "Alice was", max_tokens: 80, seed: 7 },
};

/** Pins an example for each model that has none. The next start tries failed ones again. */
export async function pinExamples(client: Client, owner: string): Promise<void> {
  for (const [name, input] of Object.entries(INPUTS)) {
    const path = `/models/${owner}/${name}/examples`;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { items } = await client.call(pageOf(example), "GET", path, { signal });
    if (items.length > 0) continue;
    const { id, status } = await client.call(predictionWithIO, "POST", "/predictions", {
      headers: { prefer: "wait" },
      body: { model: `${owner}/${name}`, input },
      signal,
    });
    if (status !== "succeeded") continue;
    await client.call(example, "POST", path, { body: { prediction_id: id }, signal });
  }
}
