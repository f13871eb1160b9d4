/** The answers of a receiver, and its ways to give none. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { Answer, Behaviour, Trouble } from "./exchange.ts";

const CHUNK = Buffer.alloc(64 * 1_024, "x");
const HUGE = 4 * 1_024 * 1_024;
const TRICKLE_MS = 20;

/** @param sent called with the number of bytes of an endless body */
export function answer(
  behaviour: Behaviour,
  response: ServerResponse,
  socket: Socket,
  sent: (bytes: number) => void,
): void {
  // The client may leave in the middle of any answer.
  response.on("error", () => {});
  if (typeof behaviour === "string") cause(behaviour, response, socket, sent);
  else if (behaviour.afterMs) setTimeout(say, behaviour.afterMs, behaviour, response).unref();
  else say(behaviour, response);
}

function say({ status, headers = {}, body = "" }: Answer, response: ServerResponse): void {
  response.writeHead(status, headers).end(body);
}

function cause(
  trouble: Trouble,
  response: ServerResponse,
  socket: Socket,
  sent: (bytes: number) => void,
): void {
  switch (trouble) {
    case "reset":
    case "reset-at-headers":
      socket.resetAndDestroy();
      return;
    case "hang-up":
      socket.end();
      return;
    case "silent":
      return;
    case "trickle":
      trickle(socket);
      return;
    case "stalled":
      response.writeHead(200, { "content-length": "100" }).flushHeaders();
      return;
    case "short":
      response.writeHead(200, { "content-length": "100" }).write("short", () => socket.end());
      return;
    case "endless":
      response.writeHead(200);
      Readable.from(endless(sent), { highWaterMark: 1 }).pipe(response);
      return;
    case "huge-headers":
      // The answer is written by hand, because Node refuses headers of this size.
      socket.end(`HTTP/1.1 200 OK\r\nhuge: ${"x".repeat(HUGE)}\r\ncontent-length: 0\r\n\r\n`);
      return;
    case "hints":
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.writeHead(200).end();
      return;
    case "garbage":
      socket.end("\u0000\u0001 no HTTP at all\r\n\r\n");
      return;
    case "half":
      socket.end("HTTP/1.1 20");
  }
}

function* endless(sent: (bytes: number) => void): Generator<Buffer> {
  for (;;) {
    yield CHUNK;
    sent(CHUNK.length);
  }
}

function trickle(socket: Socket): void {
  const bytes = (function* () {
    yield* "HTTP/1.1 200 OK\r\ntrickle: ";
    for (;;) yield "x";
  })();
  const timer = setInterval(() => socket.write(bytes.next().value), TRICKLE_MS).unref();
  socket.on("close", () => clearInterval(timer));
}
