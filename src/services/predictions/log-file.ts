/** The whole log of a prediction as a file to download. */
import { notVisible } from "../../errors/errors.ts";
import { openLogFile } from "../../objects/prediction/stub.ts";
import type { Caller } from "../accounts/caller.ts";
import { tooManyConnections } from "../accounts/concurrency-limit.ts";
import type { Services } from "../services.ts";
import { predictionStub } from "./predictions.ts";

/** @throws ProblemError not_found, also when its data has been removed; too_many_requests */
export async function readLogFile(
  services: Services,
  caller: Caller,
  id: string,
): Promise<ReadableStream> {
  const response = await openLogFile(await predictionStub(services, caller, id));
  if (response === "full")
    throw tooManyConnections("You are reading as much as you may. Finish some downloads first.");
  if (!response?.body) throw notVisible(`The log of the prediction '${id}'`);
  return response.body;
}
