/** Messages over a local socket, each a line of JSON. */
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { z } from "zod";

/** `readline` takes them for the end of a line, and JSON has them as they are. */
const SEPARATORS = /[\u2028\u2029]/g;

export interface Lines<Sent> {
  /** @param onSent called when it is on its way, or cannot be sent */
  send(message: Sent, onSent?: () => void): void;
  close(): void;
}

/**
 * @param onMessage called in order
 * @param onEnd called once, when the other side has ended or said what it does not understand
 */
export function overLines<Sent, Heard>(
  socket: Socket,
  heard: z.ZodType<Heard>,
  onMessage: (message: Heard) => void,
  onEnd: () => void,
): Lines<Sent> {
  const lines = createInterface({ input: socket });
  lines.on("line", (line) => {
    const message = parse(line, heard);
    if (message === undefined) socket.destroy();
    else onMessage(message);
  });
  // The other side was killed, for example. Both say so, and either would end this process.
  for (const one of [lines, socket]) one.on("error", () => {});
  socket.on("close", onEnd);
  return {
    send: (message, onSent) => void socket.write(`${lineOf(message)}\n`, onSent),
    // Not only its half: what still comes would be heard.
    close: () => socket.destroySoon(),
  };
}

const lineOf = (message: unknown): string =>
  JSON.stringify(message).replace(SEPARATORS, (one) => (one === "\u2028" ? "\\u2028" : "\\u2029"));

function parse<Heard>(line: string, heard: z.ZodType<Heard>): Heard | undefined {
  try {
    return heard.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
