/** The body of a webhook: the prediction as it was when the event happened. */
import { eventId } from "../../domain/webhooks/event-id.ts";
import type { OutboxEvent } from "../../domain/webhooks/outbox.ts";
import { type JsonPieces, objectText } from "../../lib/json-splice.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { WebhookPayload } from "../../protocol/webhook-payload.ts";
import type { PredictionRecord } from "./record.ts";

/** Bytes of input and of output each: larger ones are left out and read at the prediction's URL. */
const MAX_DATA_BYTES = 1024 * 1024;

/** Opens a value that is stored in R2; undefined when it does not exist. */
export type FindValue = (name: string) => Promise<ReadableStream<Uint8Array> | undefined>;

/** JSON text of little more than 2 MiB at most. `data_omitted` says that input or output is left out. */
export async function webhookBody(
  record: PredictionRecord,
  event: OutboxEvent,
  find: FindValue,
): Promise<string> {
  const { life } = record;
  const removed = life.dataRemoved;
  // A list is too large by its sum. Of a `value` only the last output counts, which may be small.
  const tooLarge = event.output !== "value" && event.output_bytes > MAX_DATA_BYTES;
  const [input, output] = await Promise.all([
    removed ? undefined : textOf([record.input()], find),
    removed || tooLarge ? undefined : textOf(record.outputAsOf(event), find),
  ]);
  const about = {
    data_removed: removed,
    data_omitted: input === undefined || output === undefined,
    webhook: {
      id: eventId(life.spec.id, event.sequence),
      event: event.event,
      sequence: event.sequence,
      created_at: new Date(event.at).toISOString(),
    },
  } satisfies Partial<WebhookPayload>;
  const values = { input: input ?? "null", output: output ?? "null" };
  return objectText({ ...event.prediction, ...about }, values);
}

/** undefined when it is too large, or a part of it does not exist. */
async function textOf(
  pieces: JsonPieces<StoredValue>,
  find: FindValue,
): Promise<string | undefined> {
  if (pieces.reduce((bytes, piece) => bytes + sizeOf(piece), 0) > MAX_DATA_BYTES) return undefined;
  const texts: string[] = [];
  for (const piece of pieces) {
    const content = typeof piece === "string" ? piece : await find(piece.name);
    if (content === undefined) return undefined;
    texts.push(typeof content === "string" ? content : await new Response(content).text());
  }
  return texts.join("");
}

const encoder = new TextEncoder();

const sizeOf = (piece: string | StoredValue) =>
  typeof piece === "string" ? encoder.encode(piece).length : piece.size;
