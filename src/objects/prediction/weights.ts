/** The weights of a prediction, with URLs that its runner can fetch them from. */
import type { PredictionSpec, SpecWeight } from "../../domain/predictions/state.ts";
import { type Bindings, settings } from "../../env.ts";
import type { JobWeight } from "../../protocol/weights.ts";
import { database } from "../../storage/database.ts";
import { signFileUrl } from "../../storage/files/signed-file-urls.ts";

/** Signed for each hand-out, since hours may lie between the create and that. 40 GB at 1 MB/s take 11 h. */
const URL_MS = 24 * 3_600_000;

/** Most predictions have none, and wait for nothing. */
export async function openWeights(
  env: Bindings,
  { weights, url }: PredictionSpec,
): Promise<JobWeight[] | undefined> {
  if (!weights) return undefined;
  const { origin } = new URL(url);
  const expires = Date.now() + URL_MS;
  const opened = async (weight: SpecWeight): Promise<JobWeight> => {
    if (weight.kind === "oci") return weight;
    const { kind, target, id, key, size } = weight;
    const signed = await signFileUrl(settings(env), database(env.DB), origin, key, expires);
    return { kind, target, id, url: signed, size };
  };
  return Promise.all(weights.map(opened));
}
