/**
 * The WebSockets of runners. They are hibernatable: between frames the object may sleep while the platform
 * answers pings for it. Each socket carries the number of its attempt; normally there is one.
 */
import type { OpenChannel } from "../../domain/predictions/deadlines.ts";
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import { CLOSE, type DownFrame, PING, PONG } from "../../protocol/channel.ts";

interface Attachment {
  attempt: number;
  token_id: string;
  accepted_at: number;
  token_known_at: number;
}

/** The members of the `welcome` frame. */
interface Welcome {
  attempt: number;
  seq: number;
  flush_ms: number;
  receipt: string;
}

export class Channels {
  readonly #ctx: DurableObjectState;
  /** When the last frame arrived since the object woke up. */
  #frameAt = 0;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /** Replaces the channel that the attempt had. */
  accept({ attempt, ...welcome }: Welcome, holder: LeaseHolder, now: number): Response {
    for (const socket of this.#openOf(attempt))
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

  attemptOf(socket: WebSocket): number {
    return attached(socket).attempt;
  }

  get attempts(): number[] {
    return this.#open.map((socket) => this.attemptOf(socket));
  }

  isReplaced(socket: WebSocket): boolean {
    return this.#openOf(this.attemptOf(socket)).some((other) => other !== socket);
  }

  seen(now: number): void {
    this.#frameAt = now;
  }

  /** The open channel of an attempt, or null. */
  open(attempt: number): (OpenChannel & Pick<Attachment, "token_id">) | null {
    // The last socket counts: an older one may still be closing.
    const socket = this.#openOf(attempt).at(-1);
    if (!socket) return null;
    const { attempt: _, accepted_at, ...runner } = attached(socket);
    const pingedAt = this.#ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0;
    return { last_seen_at: Math.max(accepted_at, pingedAt, this.#frameAt), ...runner };
  }

  /** Notes that the token of an attempt's runner is known to be valid as of this time. */
  renewToken(attempt: number, token_known_at: number): void {
    for (const socket of this.#openOf(attempt))
      socket.serializeAttachment({ ...attached(socket), token_known_at } satisfies Attachment);
  }

  send(attempt: number, frame: DownFrame): void {
    for (const socket of this.#openOf(attempt)) send(socket, frame);
  }

  /** Tells all connected runners that their attempt has ended. */
  fence(reason: string): void {
    for (const socket of this.#ctx.getWebSockets()) fence(socket, reason);
  }

  #openOf(attempt: number): WebSocket[] {
    return this.#open.filter((socket) => this.attemptOf(socket) === attempt);
  }

  get #open(): WebSocket[] {
    return this.#ctx.getWebSockets().filter((s) => s.readyState === WebSocket.OPEN);
  }
}

const attached = (socket: WebSocket): Attachment => socket.deserializeAttachment();

/** Sends a frame, unless the socket has just closed: its runner reconnects and gets the state then. */
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
