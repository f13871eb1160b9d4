/**
 * The WebSockets of runners, hibernatable: between frames the object may sleep while its runner's
 * pings are answered for it. Each carries the number of its attempt; normally there is one.
 */
import type { OpenChannel } from "../../domain/predictions/deadlines.ts";
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import { CLOSE, type DownFrame, PING, PONG } from "../../protocol/channel.ts";

interface Attachment {
  attempt: number;
  accepted_at: number;
  token_id: string;
  token_known_at: number;
}

/** What a runner is welcomed with. */
interface Welcome {
  attempt: number;
  seq: number;
  receipt: string;
}

export class Channels {
  readonly #ctx: DurableObjectState;
  /** When a frame last came in, while the object has been awake. */
  #frameAt = 0;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /** Takes over from whatever channel the attempt had. */
  accept({ attempt, ...welcome }: Welcome, holder: LeaseHolder, now: number): Response {
    for (const socket of this.#of(attempt))
      close(socket, CLOSE.replaced, "another connection took over");
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
    this.#ctx.acceptWebSocket(server);
    const { token_id, token_known_at } = holder;
    const attachment: Attachment = { attempt, accepted_at: now, token_id, token_known_at };
    server.serializeAttachment(attachment);
    send(server, { type: "welcome", ...welcome });
    return new Response(null, { status: 101, webSocket: client });
  }

  /** The attempt that a socket speaks for. */
  attemptOf(socket: WebSocket): number {
    return attached(socket).attempt;
  }

  /** The attempts that have an open channel. */
  get attempts(): number[] {
    return this.#open.map((socket) => this.attemptOf(socket));
  }

  /** Whether its attempt has another channel by now. */
  isReplaced(socket: WebSocket): boolean {
    return this.#of(this.attemptOf(socket)).some((other) => other !== socket);
  }

  heard(now: number): void {
    this.#frameAt = now;
  }

  /** The open channel of an attempt; null when it has none. */
  open(attempt: number): (OpenChannel & { token_id: string }) | null {
    // The last: another may still be closing.
    const socket = this.#of(attempt).at(-1);
    if (!socket) return null;
    const { accepted_at, token_id, token_known_at } = attached(socket);
    const pinged = this.#ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0;
    return { heard_at: Math.max(accepted_at, pinged, this.#frameAt), token_id, token_known_at };
  }

  /** The token of an attempt's runner was found good. */
  vouch(attempt: number, token_known_at: number): void {
    for (const socket of this.#of(attempt))
      socket.serializeAttachment({ ...attached(socket), token_known_at } satisfies Attachment);
  }

  tell(attempt: number, frame: DownFrame): void {
    for (const socket of this.#of(attempt)) send(socket, frame);
  }

  /** Tells everybody still connected that their attempt has ended. */
  fence(reason: string): void {
    for (const socket of this.#ctx.getWebSockets()) fence(socket, reason);
  }

  #of(attempt: number): WebSocket[] {
    return this.#open.filter((socket) => this.attemptOf(socket) === attempt);
  }

  get #open(): WebSocket[] {
    return this.#ctx.getWebSockets().filter((s) => s.readyState === WebSocket.OPEN);
  }
}

const attached = (socket: WebSocket): Attachment => socket.deserializeAttachment();

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
