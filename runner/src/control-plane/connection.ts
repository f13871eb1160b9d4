/** One WebSocket of a channel, from the upgrade to the close. Does not interpret the frames. */

import { type RawData, WebSocket } from "ws";
import { parseJson } from "../../../src/lib/json.ts";
import { CLOSE, downFrame, PING, PONG } from "../../../src/protocol/channel.ts";
import type {
  Closed,
  Connection,
  ConnectionHandlers,
  ConnectionTiming,
} from "../../../src/run/channel.ts";
import { messageOf } from "../lib/error.ts";
import type { ChannelAddress } from "./client.ts";

const HANDSHAKE_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2_000;
/** The server sends only acknowledgements and reasons. */
const MAX_DOWN_BYTES = 64 * 1024;
/** Statuses of the upgrade that a retry does not change: token, lease, prediction. */
const FINAL_STATUS = new Set([401, 403, 404, 409, 410]);

export class SocketConnection implements Connection {
  readonly #socket: WebSocket;
  readonly #handlers: ConnectionHandlers;
  #pings: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout;
  #closed: Closed | undefined;

  constructor(address: ChannelAddress, timing: ConnectionTiming, handlers: ConnectionHandlers) {
    this.#handlers = handlers;
    this.#socket = new WebSocket(address.url, {
      headers: address.headers,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      maxPayload: MAX_DOWN_BYTES,
      // Most frames are about a hundred bytes: deflate costs more than it saves.
      perMessageDeflate: false,
    });
    this.#silence = setTimeout(() => this.#socket.terminate(), timing.silenceMs);
    this.#socket
      .on("open", () => {
        this.#pings = setInterval(() => this.send(PING), timing.pingMs);
      })
      .on("message", (data) => this.#receive(data))
      .on("unexpected-response", (_request, { statusCode = 0 }) => {
        this.#closed = { final: FINAL_STATUS.has(statusCode), reason: `HTTP ${statusCode}` };
        this.#socket.terminate();
      })
      .on("error", (error) => {
        this.#closed ??= { final: false, reason: messageOf(error) };
      })
      .on("close", (code, reason) => this.#end(code, reason.toString()));
  }

  send(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  close(): void {
    clearInterval(this.#pings);
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS);
    this.#socket.close(1000);
  }

  #receive(data: RawData): void {
    const text = data.toString();
    if (this.#socket.readyState === WebSocket.OPEN) this.#silence.refresh();
    const frame = text === PONG ? undefined : downFrame.safeParse(parseJson(text)).data;
    if (text === PONG) this.#handlers.onPong();
    else if (frame) this.#handlers.onFrame(frame);
  }

  #end(code: number, reason: string): void {
    clearInterval(this.#pings);
    clearTimeout(this.#silence);
    const words = reason === "" ? `closed with code ${code}` : reason;
    this.#handlers.onClose(this.#closed ?? { final: code === CLOSE.fenced, reason: words });
  }
}
