/** The output of a prediction as a file of its own: as text, as JSON, or as a table. */
import { JsonMember } from "../../domain/predictions/json-member.ts";
import { beginningOf, csvOf, dimensionOf, tableOf } from "../../domain/predictions/output-table.ts";
import { OutputText } from "../../domain/predictions/output-text.ts";
import { VectorLines } from "../../domain/predictions/vector-lines.ts";
import { conflict, ProblemError } from "../../errors.ts";
import type { Json } from "../../protocol/common.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { getPrediction } from "./predictions.ts";
import { readWhole } from "./whole-reads.ts";

/** Characters of an output that is read as a whole: of brackets alone, parsed and listed, 60 MB. */
export const MAX_WHOLE_CHARS = 1_000_000;

/** Whose output, and for which origin its addresses are. */
export interface OutputOf {
  caller: Caller;
  id: string;
  origin: string;
}

/** @throws ProblemError not_found */
export async function outputJson(
  services: Services,
  { caller, id, origin }: OutputOf,
): Promise<ReadableStream<string>> {
  const { text } = await getPrediction(services, caller, id, origin);
  const body = new Response(text).body ?? new Blob([]).stream();
  const member = new JsonMember("output");
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(
    new TransformStream<string, string>({
      transform: (piece, controller) => controller.enqueue(member.add(piece)),
    }),
  );
}

/** @param between what separates its strings @throws ProblemError not_found */
export async function outputText(
  services: Services,
  of: OutputOf,
  between: string,
): Promise<ReadableStream<string>> {
  const text = new OutputText(between);
  return (await outputJson(services, of)).pipeThrough(
    new TransformStream<string, string>({
      transform: (piece, controller) => controller.enqueue(text.add(piece)),
      flush: (controller) => controller.enqueue(text.end()),
    }),
  );
}

/** A large one is of vectors alone. @throws ProblemError not_found, conflict when it is no table; too_large */
export async function outputTable(
  services: Services,
  of: OutputOf,
): Promise<string | ReadableStream<string>> {
  const { rows, dimension } = await readWhole(of.caller.user_id, async () => {
    const { json, isWhole } = await readJson(services, of);
    return isWhole
      ? { rows: tableOf(JSON.parse(json)) ?? null }
      : { dimension: dimensionOf(beginningOf(json) ?? null) };
  });
  if (rows) return csvOf(rows);
  if (rows === null) throw conflict("This output is no table. Read it as JSON or as text.");
  if (dimension === undefined)
    throw new ProblemError("too_large", "This output is too large for a table. Read it as JSON.");
  const lines = new VectorLines(dimension);
  return (await outputJson(services, of)).pipeThrough(
    new TransformStream<string, string>({
      transform: (piece, controller) => controller.enqueue(lines.add(piece)),
    }),
  );
}

/** @returns undefined for one that is too large @throws ProblemError not_found, too_many_requests */
export const wholeOutput = (services: Services, of: OutputOf): Promise<Json | undefined> =>
  readWhole(of.caller.user_id, async () => {
    const { json, isWhole } = await readJson(services, of);
    return isWhole ? JSON.parse(json) : undefined;
  });

/** Up to the limit, and somewhat more. */
async function readJson(services: Services, of: OutputOf) {
  let json = "";
  for await (const piece of await outputJson(services, of)) {
    json += piece;
    if (json.length > MAX_WHOLE_CHARS) return { json, isWhole: false };
  }
  return { json: json === "" ? "null" : json, isWhole: true };
}
