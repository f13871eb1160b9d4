/** The only way to remote objects, each of which makes one call to a remote host. */
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import type { Bindings } from "../../env.ts";
import { bounded } from "./bounded.ts";
import type { Piece } from "./content.ts";
import { inJurisdiction } from "./jurisdiction.ts";

/** An attempt of a prediction, handed to a remote object as a job is to a runner. */
export interface RemoteOrder {
  object_id: string;
  attempt: number;
  /** The secret of the attempt. */
  secret: string;
  spec: PredictionSpec;
  input: Piece;
  /** The API key; undefined if the version needs none, or its variable has no value. */
  key: string | undefined;
}

/** Returns a new object. */
export function newRemote(env: Bindings, ms: number) {
  const id = inJurisdiction(env, env.REMOTE).newUniqueId();
  return bounded(() => env.REMOTE.get(id), { ms });
}
