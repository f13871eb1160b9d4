/** The webhook receiver, in Node. All tests share it, so each uses a path of its own. */
import { inject } from "vitest";
import type { Behaviour, Received } from "../../receiver/exchange.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The address of the receiver, and that of its commands. */
    receiver: { url: string; door: string };
  }
}

export type Command =
  | { verb: "script"; target: string; behaviours: Behaviour[] }
  | { verb: "release"; path: string }
  | { verb: "wait"; path: string; count: number; over: boolean };

/** Returns a path that no other test uses. */
export const freshPath = (): string => `/${crypto.randomUUID()}`;

/** Returns the address of a path of the receiver: http, on a loopback address. */
export const addressOf = (path: string): string => inject("receiver").url + path;

/**
 * Sets the answers to requests, in order; the last one repeats. A path without answers has 200.
 * @param target a path, or a path with a query, which has precedence
 */
export async function script(target: string, ...behaviours: Behaviour[]): Promise<void> {
  await command({ verb: "script", target, behaviours });
}

/** Sends the answer to a request that has come, and whose answer is held. */
export async function release(path: string): Promise<void> {
  await command({ verb: "release", path });
}

/** Returns the requests to a path in order of arrival, once there are `count`. */
export const received = (path: string, count = 0): Promise<Received[]> =>
  command({ verb: "wait", path, count, over: false });

/** Returns the same requests once each is over: answered to the end, or its connection closed. */
export const exchanged = (path: string, count = 1): Promise<Received[]> =>
  command({ verb: "wait", path, count, over: true });

async function command(body: Command): Promise<Received[]> {
  const response = await fetch(inject("receiver").door, {
    method: "POST",
    body: JSON.stringify(body),
  });
  const those: Received[] = JSON.parse(await response.text());
  return those;
}
