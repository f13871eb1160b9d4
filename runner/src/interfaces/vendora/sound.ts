/** Reads the bytes of a server that speaks: as events of the convention, one for what has come at a time. */
import type { IncomingMessage } from "node:http";
import type { Json } from "../../../../src/protocol/common.ts";

/** Twice that is less than fits into the log (MAX_INLINE_OUTPUT). */
const MAX_BYTES = 96 * 1024;

/** Longer ones are not of this kind. */
const MAX_TYPE = 200;

export async function readSound(
  answer: IncomingMessage,
  onOutput: (event: Record<string, Json>) => void,
): Promise<void> {
  const type = answer.headers["content-type"] ?? "";
  let named: Record<string, Json> =
    type.length > 0 && type.length <= MAX_TYPE ? { content_type: type } : {};
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length; at += MAX_BYTES) {
      const audio = chunk.subarray(at, at + MAX_BYTES).toString("base64");
      onOutput({ type: "speech.audio.delta", audio, ...named });
      named = {};
    }
  }
}
