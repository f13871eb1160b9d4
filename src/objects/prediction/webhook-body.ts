/** The body of a webhook: the prediction as it was when the event happened. */
import { eventId } from "../../domain/webhooks/event-id.ts";
import type { OutboxEvent } from "../../domain/webhooks/outbox.ts";
import type { WebhookPayload } from "../../protocol/webhook-payload.ts";
import type { Piece } from "./log.ts";
import type { PredictionRecord } from "./record.ts";

/** Bytes of input and of output each: what is larger is to be read at the prediction's address. */
const MAX_DATA_BYTES = 1024 * 1024;

/** Finds a value that lies in R2; undefined when it is not there. */
export type FindValue = (name: string) => Promise<ReadableStream<Uint8Array> | undefined>;

/** JSON text, of at most 2 MiB and some. What is too large for it, or gone, is left out and said. */
export async function bodyOf(
  record: PredictionRecord,
  event: OutboxEvent,
  find: FindValue,
): Promise<string> {
  const { life } = record;
  const removed = life.dataRemoved;
  // Many values of a list are too much together; of which the last counts, that one alone may not be.
  const huge = event.output !== "value" && event.output_bytes > MAX_DATA_BYTES;
  const [input, output] = await Promise.all([
    removed ? undefined : textOf([record.input()], find),
    removed || huge ? undefined : textOf(record.outputThen(event), find),
  ]);
  const rest = {
    data_removed: removed,
    data_omitted: input === undefined || output === undefined,
    webhook: {
      id: eventId(life.spec.id, event.sequence),
      event: event.event,
      sequence: event.sequence,
      created_at: new Date(event.at).toISOString(),
    },
  } satisfies Partial<WebhookPayload>;
  const head = JSON.stringify(event.prediction).slice(0, -1);
  const tail = JSON.stringify(rest).slice(1);
  return `${head},"input":${input ?? "null"},"output":${output ?? "null"},${tail}`;
}

/** undefined when it is too large, or not all of it is there. */
async function textOf(pieces: Piece[], find: FindValue): Promise<string | undefined> {
  if (pieces.reduce((bytes, piece) => bytes + sizeOf(piece), 0) > MAX_DATA_BYTES) return undefined;
  const texts: string[] = [];
  for (const piece of pieces) {
    const found = typeof piece === "string" ? piece : await find(piece.name);
    if (found === undefined) return undefined;
    texts.push(typeof found === "string" ? found : await new Response(found).text());
  }
  return texts.join("");
}

const encoder = new TextEncoder();

const sizeOf = (piece: Piece) =>
  typeof piece === "string" ? encoder.encode(piece).length : piece.size;
