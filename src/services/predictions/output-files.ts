/** The output of a prediction as a file of its own: as text or as JSON. */
import { OutputText } from "../../domain/predictions/output-text.ts";
import { notVisible } from "../../errors/errors.ts";
import { openContent, openLogFile } from "../../objects/stubs/prediction.ts";
import type { Caller } from "../access/access.ts";
import { tooManyConnections } from "../access/concurrency-limit.ts";
import type { Services } from "../services.ts";
import { jsonBodyOf } from "./prediction-text.ts";
import { predictionStub } from "./predictions.ts";

interface OutputOf {
  caller: Caller;
  id: string;
}

/** @throws ProblemError not_found, too_many_requests */
export async function outputJson(
  services: Services,
  { caller, id }: OutputOf,
): Promise<ReadableStream> {
  const content = await openContent(await predictionStub(services, caller, id), "output");
  if (content === "full")
    throw tooManyConnections("Too many concurrent downloads. Wait for some to finish.");
  const pieces = content?.pieces ?? ["null"];
  return new Response(jsonBodyOf(services, id, pieces)).body ?? new Blob([]).stream();
}

/**
 * @param between the separator of the strings
 * @throws ProblemError not_found, too_many_requests
 */
export async function outputText(
  services: Services,
  of: OutputOf,
  between: string,
): Promise<ReadableStream> {
  const text = new OutputText(between);
  const json = await outputJson(services, of);
  return json
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(
      new TransformStream<string, string>({
        transform: (piece, controller) => controller.enqueue(text.add(piece)),
        flush: (controller) => controller.enqueue(text.end()),
      }),
    )
    .pipeThrough(new TextEncoderStream());
}

/** @throws ProblemError not_found, also when its data has been removed; too_many_requests */
export async function readLogFile(
  services: Services,
  caller: Caller,
  id: string,
): Promise<ReadableStream> {
  const response = await openLogFile(await predictionStub(services, caller, id));
  if (response === "full")
    throw tooManyConnections("Too many concurrent downloads. Wait for some to finish.");
  if (!response?.body) throw notVisible(`The log of the prediction '${id}'`);
  return response.body;
}
