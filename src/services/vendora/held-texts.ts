/**
 * Texts that stay in the memory that all accounts share, beyond what the limits of bodies hold for:
 * messages of sockets before they are read as bodies, and what a response shows of its request, from its
 * beginning to its end.
 */

/** As a body. One of three bytes for each character is refused as a body. */
export const MAX_MESSAGE_CHARS = 10 * 1024 * 1024;

/** Of one account, and of all in this isolate: each character takes up to two bytes. */
const OWN_CHARS = 12 * 1024 * 1024;
const ALL_CHARS = 24 * 1024 * 1024;

/** When a client disappears, nothing may run any more: then what it held lapses. */
const LAPSE_MS = 10 * 60_000;

interface Held {
  owner: string;
  chars: number;
  until: number;
}

const held = new Set<Held>();

/** @returns ends it; calling it again has no effect. Undefined when there is no room */
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
  const entry = { owner, chars, until: now + LAPSE_MS };
  held.add(entry);
  return () => void held.delete(entry);
}
