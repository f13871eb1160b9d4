/**
 * Search queries as FTS5 expressions over the documents in migrations/0000_baseline.sql. Only
 * letters and digits of a query reach an expression, in quotes: no operators, no marks, so no
 * expression is malformed.
 */
import { hex } from "../lib/hex.ts";

/**
 * One word of FTS5. Its Unicode is older than ours: it splits words at these 21 letters, and a
 * quoted word that it splits is a phrase, which the index would refuse.
 */
const WORD = /[[\p{L}\p{N}]--[\u19b0-\u19c0\u19c8\u19c9\u1cf2\u1cf3]]+/gv;

/** The longest prefix that has an index of its own. */
const LONGEST_PREFIX = 16;

/** Letters of a trigram: less than that cannot be asked for. */
const TRIGRAM = 3;

/** Words that are tried for one that may be mistyped. */
const MOST_ALTERNATIVES = 32;

const mark = { listed: "\ue000", private: "\ue001", exact: "\ue002", tier: "\ue003" };

const quoted = (word: string) => `"${word}"`;

export interface Query {
  /** Of a document of exactly this name. */
  exact: string;
  words: string[];
}

/** @returns undefined where there is no letter and no digit */
export function parseQuery(text: string): Query | undefined {
  const words = new Set(text.normalize("NFC").match(WORD));
  if (words.size === 0) return undefined;
  const name = hex(new TextEncoder().encode(text.trim().toLowerCase()).slice().buffer);
  return { exact: quoted(mark.exact + name), words: [...words] };
}

/** What a caller may find: what is listed, and what is theirs. @param callerId a UUID */
export function accessExpression(callerId: string | undefined): string {
  const listed = quoted(mark.listed);
  if (callerId === undefined) return listed;
  return `${listed} OR ${quoted(mark.private + callerId.replaceAll("-", ""))}`;
}

/** The documents of a model, from the best: its exact name, name, owner, description, overview. */
export const TIERS = 5;

/** Ranks of what is near follow those of what matches as typed, so tiers go on from 5 to 9. */
export const tierOf = (rank: number) => Math.ceil(rank / 2 ** 40);

interface Expression {
  /** For each word, what else may stand in its place. */
  alternatives?: string[][];
  /** As `accessOf` has it; absent: everything. */
  access?: string | undefined;
  /** The last tier that matters. */
  lastTier?: number;
}

/** Documents with all the words, each model or user found once, by the best of its tiers. */
export function matchExpression(
  { exact, words }: Query,
  { alternatives = [], access, lastTier = TIERS - 1 }: Expression,
): string {
  const each = words.map((word, n) => {
    const prefix = `${quoted([...word].slice(0, LONGEST_PREFIX).join(""))}*`;
    return `(${[prefix, ...(alternatives[n] ?? []).map(quoted)].join(" OR ")})`;
  });
  const match = `((${each.join(" AND ")}) OR ${exact})`;
  const wanted = [match];
  if (access !== undefined) wanted.push(`marks: (${access})`);
  // Backwards FTS5 begins with the last document of all and reads what is not wanted one by one, 5 ms
  // for 100,000; tiers that are left out are leapt over.
  if (lastTier < TIERS - 1) {
    const tiers = Array.from({ length: lastTier + 1 }, (_, tier) => quoted(mark.tier + tier));
    wanted.push(`marks: (${tiers.join(" OR ")})`);
  }
  return `(${wanted.join(" AND ")}) NOT seen: ${match}`;
}

/** Letters of the longest word that is known, as the migration has it. */
const LONGEST_WORD = 32;

/** From so many letters on a third of a word says enough; a clause for each letter costs 10 times that. */
const LONG_WORD = 12;

/** Whether a known word may be near this one at all. */
export const canBeMisspelt = (word: string) => [...word].length <= LONGEST_WORD + 1;

/**
 * Asks the trigrams of all known words for those that may be one edit from this one: what is
 * before the edit and what is behind it are in both. It finds more than that; `near` decides.
 */
export function similarWordsExpression(word: string): string {
  const letters = [...word];
  if (letters.length >= LONG_WORD) {
    // One edit leaves two of three thirds as they are.
    const third = Math.floor(letters.length / 3);
    const thirds = [letters.slice(0, third), letters.slice(third, -third), letters.slice(-third)];
    return thirds.map((part) => quoted(part.join(""))).join(" OR ");
  }
  const long = Math.max(TRIGRAM, letters.length - TRIGRAM);
  const clauses = [
    [letters.slice(0, long)],
    [letters.slice(-long)],
    ...letters.map((_, n) => [letters.slice(0, n), letters.slice(n + 1)]),
    ...letters.map((_, n) => [letters.toSpliced(n, 1)]),
    ...letters.slice(1).map((letter, n) => [letters.toSpliced(n, 2, letter, letters[n] ?? "")]),
  ].filter((parts) => parts.every((part) => part.length >= TRIGRAM));
  return [[letters], ...clauses]
    .map((parts) => `(${parts.map((part) => quoted(part.join(""))).join(" AND ")})`)
    .join(" OR ");
}

/** Of these, the words that contain a word, or are one edit from it; doubled letters count once. */
export function nearWords(word: string, known: string[]): string[] {
  const typed = folded(word);
  const single = singled(typed);
  return known
    .filter((other) => {
      const text = folded(other);
      if (text.startsWith(typed)) return false; // Found already, as a prefix.
      return text.includes(typed) || isOneEdit(single, singled(text));
    })
    .slice(0, MOST_ALTERNATIVES);
}

const folded = (word: string) => word.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

/** "lamma" and "llama" are both "lama". */
const singled = (word: string) => [...word.replace(/(.)\1+/gu, "$1")];

/** Whether at most one letter is missing, too many, another, or has changed place with the next. */
function isOneEdit(one: string[], other: string[]): boolean {
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const a = one.slice(start, one.length - end);
  const b = other.slice(start, other.length - end);
  if (a.length === 2 && b.length === 2) return a[0] === b[1] && a[1] === b[0];
  return a.length <= 1 && b.length <= 1;
}
