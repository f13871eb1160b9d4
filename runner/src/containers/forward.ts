/**
 * Passes on what a container calls here, though the process that took over has the container: its
 * environment still names this process.
 */
import { request as callServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { pipeline as piped } from "node:stream/promises";

export interface Address {
  host: string;
  port: number;
}

/** Rejects when one of the two sides breaks. */
export async function forwardRequest(
  to: Address,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method, url: path, headers } = request;
  const forwarded = callServer({ ...to, method, path, headers });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    forwarded.on("response", resolve).on("error", reject);
  });
  // It may be answered, and cut off, before it has been sent whole.
  const sending = piped(request, forwarded).catch(() => {});
  const answered = await answer;
  response.writeHead(answered.statusCode ?? 502, answered.headers);
  await piped(answered, response);
  await sending;
}

export function forwardTunnel(
  to: Address,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  const forwarded = connect(to);
  const ended = (error: unknown) => {
    if (!error) return;
    socket.destroy();
    forwarded.destroy();
  };
  const lines = [`CONNECT ${request.url} HTTP/1.1`];
  for (let at = 0; at + 1 < request.rawHeaders.length; at += 2)
    lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}`);
  forwarded.write(`${lines.join("\r\n")}\r\n\r\n`);
  forwarded.write(head);
  pipeline(socket, forwarded, ended);
  pipeline(forwarded, socket, ended);
}
