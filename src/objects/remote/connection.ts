/** One WebSocket from a remote object to its prediction. */
import { parseJson } from "../../lib/json.ts";
import { CLOSE, downFrame, PING, PONG } from "../../protocol/channel.ts";
import type {
  Closed,
  Connection,
  ConnectionHandlers,
  ConnectionTiming,
} from "../../run/channel.ts";

const ENDED = 409;

export class ObjectConnection implements Connection {
  readonly #handlers: ConnectionHandlers;
  readonly #silenceMs: number;
  #socket: WebSocket | undefined;
  #pings: number | null = null;
  #silence: number | null = null;
  #isOver = false;

  /** @param opening the prediction's answer to the upgrade */
  constructor(
    opening: Promise<Response>,
    { pingMs, silenceMs }: ConnectionTiming,
    handlers: ConnectionHandlers,
  ) {
    this.#handlers = handlers;
    this.#silenceMs = silenceMs;
    this.#heard();
    opening.then(
      ({ status, webSocket }) => {
        if (webSocket) this.#open(webSocket, pingMs);
        else this.#end({ final: status === ENDED, reason: `status ${status}` });
      },
      (error: unknown) => this.#end({ final: false, reason: String(error) }),
    );
  }

  send(text: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  close(): void {
    this.#stop();
    this.#socket?.close(1000);
  }

  #open(socket: WebSocket, pingMs: number): void {
    socket.accept();
    if (this.#isOver) return socket.close(1000);
    this.#socket = socket;
    this.#pings = setInterval(() => this.send(PING), pingMs);
    socket.addEventListener("message", ({ data }) => this.#receive(String(data)));
    socket.addEventListener("close", ({ code, reason }) =>
      this.#end({ final: code === CLOSE.fenced, reason: reason || `closed with code ${code}` }),
    );
    socket.addEventListener("error", () => this.#end({ final: false, reason: "broken" }));
  }

  #receive(text: string): void {
    if (this.#isOver) return;
    this.#heard();
    if (text === PONG) return this.#handlers.onPong();
    const { data: frame } = downFrame.safeParse(parseJson(text));
    if (frame) this.#handlers.onFrame(frame);
  }

  #heard(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#end({ final: false, reason: "no answer to pings" });
      this.#socket?.close(1000);
    }, this.#silenceMs);
  }

  #end(closed: Closed): void {
    if (this.#isOver) return;
    this.#stop();
    this.#handlers.onClose(closed);
  }

  #stop(): void {
    this.#isOver = true;
    clearInterval(this.#pings);
    clearTimeout(this.#silence);
  }
}
