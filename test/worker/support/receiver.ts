/** The webhook receiver, in Node. All tests share it, so each uses a path of its own. */
import { inject } from "vitest";
import type { Behaviour, Received } from "../../receiver/exchange.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the receiver is, and where it is commanded from. */
    receiver: { url: string; door: string };
  }
}

export type Command =
  | { verb: "script"; target: string; behaviours: Behaviour[] }
  | { verb: "wait"; path: string; count: number; over: boolean };

/** A path that no other test uses. */
export const freshPath = (): string => `/${crypto.randomUUID()}`;

/** The address of a path of the receiver: http, on a loopback address. */
export const addressOf = (path: string): string => inject("receiver").url + path;

/**
 * What requests meet, one after the other; the last stays. 200 where nothing is said.
 * @param target a path, or a path with a query, which then counts for more
 */
export async function script(target: string, ...behaviours: Behaviour[]): Promise<void> {
  await command({ verb: "script", target, behaviours });
}

/** What has come to a path, in order of arrival, once it is so many. */
export const received = (path: string, count = 0): Promise<Received[]> =>
  command({ verb: "wait", path, count, over: false });

/** The same, once each is over too: answered to the end, or its connection closed. */
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
