/** Finds passages of the documentation. There are some hundred: each is looked at. */
import type { Passage } from "../../../protocol/assets.ts";

export interface Found extends Passage {
  /** The passage's text around the first word that was found. */
  excerpt: string;
}

export const MAX_QUERY = 100;
const MAX_FOUND = 20;
/** Characters before and after the first word. */
const [BEFORE, AFTER] = [60, 140];
/** A word in the title says more of what a passage is about than one in its text. */
const TITLE_WEIGHT = 10;
const MAX_COUNTED = 5;

/** Returns the passages with all words, the best first. A word may be the beginning of a longer one. */
export function findPassages(passages: readonly Passage[], query: string): Found[] {
  const words = wordsOf(query.slice(0, MAX_QUERY));
  if (words.length === 0) return [];
  return passages
    .map((passage) => ({ passage, score: scoreOf(passage, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MAX_FOUND)
    .map(({ passage }) => ({ ...passage, excerpt: excerptOf(passage.text, words) }));
}

const wordsOf = (text: string) => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Zero when a word is missing. */
function scoreOf({ title, text }: Passage, words: string[]): number {
  const [lowTitle, lowText] = [title.toLowerCase(), text.toLowerCase()];
  let score = 0;
  for (const word of words) {
    const inText = Math.min(lowText.split(word).length - 1, MAX_COUNTED);
    const inTitle = lowTitle.includes(word) ? TITLE_WEIGHT : 0;
    if (inText + inTitle === 0) return 0;
    score += inText + inTitle;
  }
  return score;
}

function excerptOf(text: string, words: string[]): string {
  const low = text.toLowerCase();
  const first = Math.min(...words.map((word) => low.indexOf(word)).filter((at) => at >= 0));
  const at = Number.isFinite(first) ? first : 0;
  const from = at <= BEFORE ? 0 : text.indexOf(" ", at - BEFORE) + 1;
  const to = at + AFTER >= text.length ? text.length : text.lastIndexOf(" ", at + AFTER);
  return `${from > 0 ? "… " : ""}${text.slice(from, Math.max(to, at))}${to < text.length ? " …" : ""}`;
}
