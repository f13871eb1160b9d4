/** On how long a text a pattern may be tried: engines try all ways to match, and there may be many. */
import { Automaton, type State, Unreadable } from "./pattern-automaton.ts";
import { NONE, overlap, union } from "./pattern-characters.ts";

/** What an ordinary pattern may be tried on. */
export const MAX_TRIED_CHARS = 1_000;

/** Of one trial: some ms. */
const MAX_STEPS = 1_000_000;

/**
 * Where one character leads on in two ways within a loop, the ways double with each round: what has
 * that, or cannot be told not to, is never tried. Where it leads on in a loop and also out of it,
 * there is one more way for each character of the text.
 * @param pattern valid with the flag `u` alone
 * @returns so many characters at most; 0: none
 */
export function triedLength(pattern: string): number {
  try {
    const { states, isAnchored } = new Automaton(pattern);
    return lengthFor(states, isAnchored);
  } catch (error) {
    if (error instanceof Unreadable) return 0;
    throw error;
  }
}

function lengthFor(states: State[], isAnchored: boolean): number {
  const leaky = new Set<number>();
  let ways = 1;
  for (const state of states) {
    const { inside, rivals } = rivalsOf(state, states);
    if (inside > 0) return 0;
    if (rivals > 0 && state.loop !== undefined) leaky.add(state.loop);
    ways *= state.loop === undefined ? rivals + 1 : Math.max(rivals, 1);
  }
  const looks = states.filter(({ isLook }) => isLook).length;
  const degree = 1 + leaky.size + looks + (isAnchored ? 0 : 1);
  // So many places of a text, in order: n over k.
  const orders = Array.from({ length: degree }, (_, n) => n + 1).reduce((a, b) => a * b);
  return Math.min(MAX_TRIED_CHARS, Math.floor(((MAX_STEPS * orders) / ways) ** (1 / degree)));
}

/** How often what comes next shares a character with what else comes next. */
function rivalsOf({ next, loop }: State, states: State[]) {
  const ahead = next.flatMap((n) => states[n] ?? []);
  const isInside = (state: State) => loop !== undefined && state.loop === loop;
  let seen = NONE;
  const rivalsAmong = (some: State[]) =>
    some.filter(({ characters }) => {
      const isRival = overlap(seen, characters);
      seen = union(seen, characters);
      return isRival;
    }).length;
  const inside = rivalsAmong(ahead.filter(isInside));
  return { inside, rivals: rivalsAmong(ahead.filter((state) => !isInside(state))) };
}
