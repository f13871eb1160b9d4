/** Creating a prediction and following it. */

import type { StreamReader } from "../../objects/prediction/stub.ts";
import type { CreatePredictionOfVersion } from "../../protocol/prediction.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { createPrediction } from "./create-prediction.ts";
import type { CreateOptions } from "./creation.ts";
import { openLog } from "./event-log.ts";

/**
 * Creates a prediction and follows it, in one call to its object. Leaving the stream does not
 * cancel the prediction.
 * @throws as createPrediction
 */
export async function createPredictionStream(
  services: Services,
  caller: Caller,
  reference: string,
  request: CreatePredictionOfVersion,
  options: Omit<CreateOptions, "waitSeconds" | "follow"> & {
    idleSeconds: number | undefined;
    reader: StreamReader;
  },
): Promise<{ id: string; events: ReadableStream<Uint8Array> | null }> {
  const follow = { idle_seconds: options.idleSeconds, reader: options.reader };

  const { id, stub, events } = await createPrediction(services, caller, reference, request, {
    ...options,
    waitSeconds: 0,
    follow,
  });
  return {
    id,
    events: events ?? (await openLog(services, stub, id, { after: 0, ...follow })).body,
  };
}
