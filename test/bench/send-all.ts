/** Sends frames as a runner does: without a pause, with a limit of unacknowledged bytes. */
import type { WebSocket } from "ws";
import { downFrame } from "../../src/protocol/channel.ts";

/**
 * Sends frames until the last one is acknowledged.
 * @param window bytes; 0: each frame waits for the acknowledgement of the last
 */
export async function sendAll(socket: WebSocket, frames: string[], window: number): Promise<void> {
  let acknowledged = 0;
  let bytes = 0;
  let changed = Promise.withResolvers<void>();
  const hear = (message: Buffer) => {
    const frame = downFrame.parse(JSON.parse(message.toString()));
    if (frame.type === "fenced") changed.reject(new Error(`fenced: ${frame.reason}`));
    if (frame.type !== "ack") return;
    while (acknowledged < frame.seq) bytes -= frames[acknowledged++]?.length ?? 0;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  socket.on("message", hear);
  for (const frame of frames) {
    while (bytes > 0 && bytes + frame.length > window) await changed.promise;
    bytes += frame.length;
    socket.send(frame);
  }
  while (acknowledged < frames.length) await changed.promise;
  socket.off("message", hear);
}
