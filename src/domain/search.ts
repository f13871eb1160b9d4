/**
 * Search queries: turns what the user typed into FTS5 expressions over the documents described in
 * migrations/0000_baseline.sql. Only letters and digits are used, always quoted: no operators, no private-use
 * characters, nothing that could be a syntax error.
 */
import { hex } from "../lib/hex.ts";

/**
 * A word as FTS5 tokenizes it. Its Unicode version is older: it splits words at these 21 letters, and
 * a quoted word that it splits becomes a phrase, which the index rejects.
 */
const WORD = /[[\p{L}\p{N}]--[\u19b0-\u19c0\u19c8\u19c9\u1cf2\u1cf3]]+/gv;

const LONGEST_PREFIX = 16;

/** Letters of a trigram, the shortest text that can be looked up. */
const TRIGRAM = 3;

/** Alternatives tried for a word that may be misspelt. */
const MAX_ALTERNATIVES = 32;

const mark = { listed: "\ue000", private: "\ue001", exact: "\ue002", tier: "\ue003" };

const quoted = (word: string) => `"${word}"`;

export interface Query {
  /** Matches a document of exactly this name. */
  exact: string;
  words: string[];
}

/** @returns undefined without any letter or digit */
export function parseQuery(text: string): Query | undefined {
  const words = new Set(text.normalize("NFC").match(WORD));
  if (words.size === 0) return undefined;
  const name = hex(new TextEncoder().encode(text.trim().toLowerCase()).slice().buffer);
  return { exact: quoted(mark.exact + name), words: [...words] };
}

/** Limits results to listed documents and the private ones of some owners. @param ownerIds UUIDs */
export const accessExpression = (ownerIds: readonly string[]): string =>
  [mark.listed, ...ownerIds.map((id) => mark.private + id.replaceAll("-", ""))]
    .map(quoted)
    .join(" OR ");

/** The documents of a model, best first: exact name, name, owner, description, overview. */
export const TIERS = 5;

/** Similar spellings rank after matches: their tiers are 5 to 9. */
export const tierOf = (rank: number) => Math.ceil(rank / 2 ** 40);

interface Expression {
  alternatives?: string[][];
  /** From `accessExpression`; absent: everything. */
  access?: string | undefined;
  lastTier?: number;
}

/** Matches documents with all the words; each model or user is found once, in its best tier. */
export function matchExpression(
  { exact, words }: Query,
  { alternatives = [], access, lastTier = TIERS - 1 }: Expression,
): string {
  const each = words.map((word, n) => {
    const prefix = `${quoted([...word].slice(0, LONGEST_PREFIX).join(""))}*`;
    return `(${[prefix, ...(alternatives[n] ?? []).map(quoted)].join(" OR ")})`;
  });
  const match = `((${each.join(" AND ")}) OR ${exact})`;
  const clauses = [match];
  if (access !== undefined) clauses.push(`marks: (${access})`);
  // Backwards, FTS5 starts at the very last document and skips others one by one, 5 ms for 100,000;
  // excluded tiers are skipped as a whole.
  if (lastTier < TIERS - 1) {
    const tiers = Array.from({ length: lastTier + 1 }, (_, tier) => quoted(mark.tier + tier));
    clauses.push(`marks: (${tiers.join(" OR ")})`);
  }
  return `(${clauses.join(" AND ")}) NOT seen: ${match}`;
}

/** Letters of the longest indexed word, as in the migration. */
const LONGEST_WORD = 32;

/** The length from which thirds of a word select enough; a clause for each letter costs 10 times more. */
const LONG_WORD = 12;

/** Whether any indexed word can be similar to this one. */
export const canBeMisspelt = (word: string) => [...word].length <= LONGEST_WORD + 1;

/**
 * Finds indexed words that may be one edit away, by trigrams: both words share the text before and
 * after the edit. The result is a superset, which `nearWords` filters.
 */
export function similarWordsExpression(word: string): string {
  const letters = [...word];
  if (letters.length >= LONG_WORD) {
    // One edit leaves at least two of the thirds unchanged.
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

/** The words that contain this one or are one edit away; doubled letters count once. */
export function nearWords(word: string, known: string[]): string[] {
  const typed = folded(word);
  const single = singled(typed);
  return known
    .filter((other) => {
      const text = folded(other);
      if (text.startsWith(typed)) return false; // Already found as a prefix.
      return text.includes(typed) || isOneEdit(single, singled(text));
    })
    .slice(0, MAX_ALTERNATIVES);
}

const folded = (word: string) => word.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

/** "lamma" and "llama" are both "lama". */
const singled = (word: string) => [...word.replace(/(.)\1+/gu, "$1")];

/** Whether at most one letter is missing, extra, different, or swapped with the next. */
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
