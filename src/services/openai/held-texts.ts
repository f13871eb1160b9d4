/**
 * Texts that stay in memory longer than bodies: messages of sockets before they are read as bodies, and the
 * parts of a request that its response shows, from its beginning to its end. All accounts share this memory.
 */

import { holdForRequest, LAPSE_MS } from "../../lib/current-request.ts";

/**
 * The longest message, which is as long as a body may be. A message of three bytes per character is refused
 * as a body.
 */
export const MAX_MESSAGE_CHARS = 10 * 1024 * 1024;

/** The characters of one account, and of all in this isolate: each takes up to two bytes. */
const OWN_CHARS = 12 * 1024 * 1024;
const ALL_CHARS = 24 * 1024 * 1024;

interface Held {
  owner: string;
  chars: number;
  until: number;
}

const held = new Set<Held>();

/** @returns ends the hold; calling it again has no effect. Undefined when there is no room */
export function holdText(owner: string, chars: number): (() => void) | undefined {
  const now = Date.now();
  let [own, all] = [chars, chars];
  for (const one of held) {
    if (one.until < now) held.delete(one);
    else {
      all += one.chars;
      if (one.owner === owner) own += one.chars;
    }
  }
  if (own > OWN_CHARS || all > ALL_CHARS) return undefined;
  const entry: Held = { owner, chars, until: now };
  held.add(entry);
  return holdForRequest({
    renew: () => {
      entry.until = Date.now() + LAPSE_MS;
    },
    leave: () => held.delete(entry),
  });
}
