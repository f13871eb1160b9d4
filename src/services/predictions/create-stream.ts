/** Creating a prediction and following it. */
import type { CreatePredictionOfVersion } from "../../protocol/prediction.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { createPrediction } from "./create-prediction.ts";
import type { CreateOptions } from "./creation.ts";
import { openLog, readerStream } from "./event-log.ts";
import type { EventStream } from "./event-stream.ts";

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
  options: Omit<CreateOptions, "waitSeconds" | "follow"> & { idleSeconds: number | undefined },
): Promise<{ id: string; stream: EventStream | undefined }> {
  const follow = { idle_seconds: options.idleSeconds, reader: crypto.randomUUID() };
  const { snapshot, stub, events } = await createPrediction(services, caller, reference, request, {
    ...options,
    waitSeconds: 0,
    follow,
  });
  const { id } = snapshot;
  const body = events ?? (await openLog(stub, id, { after: 0, ...follow })).body;
  return { id, stream: body ? readerStream(services, stub, body, follow.reader) : undefined };
}
