/**
 * The WebSockets of runners, hibernatable: between frames the object may sleep while its runner's
 * pings are answered for it. Each carries the number of its attempt; normally there is one.
 */
import { CLOSE, type DownFrame, PING, PONG } from "../../protocol/channel.ts";

interface Attachment {
  attempt: number;
  accepted_at: number;
}

export class Channels {
  readonly #ctx: DurableObjectState;
  /** When a frame last came in, while the object has been awake. */
  #frameAt = 0;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /** Takes over from whatever channel the attempt had. */
  accept(attempt: number, seq: number, now: number): Response {
    for (const socket of this.#of(attempt))
      close(socket, CLOSE.replaced, "another connection took over");
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
    this.#ctx.acceptWebSocket(server);
    const attachment: Attachment = { attempt, accepted_at: now };
    server.serializeAttachment(attachment);
    send(server, { type: "welcome", seq });
    return new Response(null, { status: 101, webSocket: client });
  }

  /** The attempt that a socket speaks for. */
  attemptOf(socket: WebSocket): number {
    const { attempt }: Attachment = socket.deserializeAttachment();
    return attempt;
  }

  heard(now: number): void {
    this.#frameAt = now;
  }

  /** When an attempt was last heard on an open channel; null when it has none. */
  heardAt(attempt: number): number | null {
    const times = this.#of(attempt).map((socket) => {
      const { accepted_at }: Attachment = socket.deserializeAttachment();
      const pinged = this.#ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0;
      return Math.max(accepted_at, pinged, this.#frameAt);
    });
    return times.length > 0 ? Math.max(...times) : null;
  }

  tell(attempt: number, frame: DownFrame): void {
    for (const socket of this.#of(attempt)) send(socket, frame);
  }

  /** Tells everybody still connected that their attempt has ended. */
  fence(reason: string): void {
    for (const socket of this.#ctx.getWebSockets()) fence(socket, reason);
  }

  #of(attempt: number): WebSocket[] {
    return this.#ctx
      .getWebSockets()
      .filter((s) => s.readyState === WebSocket.OPEN && this.attemptOf(s) === attempt);
  }
}

/** A socket that has just gone is as good as told: its runner connects again and hears it then. */
export function send(socket: WebSocket, frame: DownFrame): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

export function close(socket: WebSocket, code: number, reason: string): void {
  if (socket.readyState === WebSocket.OPEN) socket.close(code, reason.slice(0, 100));
}

export function fence(socket: WebSocket, reason: string): void {
  send(socket, { type: "fenced", reason });
  close(socket, CLOSE.fenced, reason);
}
