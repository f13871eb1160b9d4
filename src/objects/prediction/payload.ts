/** The body of a webhook: the prediction as it was when the event happened. */

import { eventId } from "../../domain/webhook/event-id.ts";
import type { OutboxEvent } from "../../domain/webhook/outbox.ts";
import type { WebhookPayload } from "../../protocol/webhook-payload.ts";
import type { Piece } from "./log.ts";
import type { PredictionRecord } from "./record.ts";

/** Bytes of input and of output each: what is larger is to be read at the prediction's address. */
export const MAX_DATA_BYTES = 1024 * 1024;

/** JSON text in pieces, of at most 2 MiB and some; values that lie in R2 are among them. */
export function payloadOf(record: PredictionRecord, event: OutboxEvent): Piece[] {
  const { life } = record;
  const removed = life.dataRemoved;
  const input = removed ? undefined : small([record.input()]);
  const output =
    removed || event.output_bytes > MAX_DATA_BYTES ? undefined : small(record.outputOf(event));
  const rest = {
    data_removed: removed,
    data_omitted: !input || !output,
    webhook: {
      id: eventId(life.spec.id, event.sequence),
      event: event.event,
      sequence: event.sequence,
      created_at: new Date(event.at).toISOString(),
    },
  } satisfies Partial<WebhookPayload>;
  const head = JSON.stringify(event.prediction).slice(0, -1);
  const tail = JSON.stringify(rest).slice(1);
  const pieces = [`${head},"input":`, ...(input ?? ["null"]), ',"output":'];
  return [...pieces, ...(output ?? ["null"]), `,${tail}`];
}

/** undefined when they are too large to be posted. */
function small(pieces: Piece[]): Piece[] | undefined {
  let bytes = 0;
  for (const piece of pieces) {
    bytes += typeof piece === "string" ? encoder.encode(piece).length : piece.size;
    if (bytes > MAX_DATA_BYTES) return undefined;
  }
  return pieces;
}

const encoder = new TextEncoder();
