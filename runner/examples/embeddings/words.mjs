// Splits texts into words, and words into n-grams.

/** Words so common that they say little about a text. */
const COMMON = new Set(
  "a about after again all also am an and any are as at be because been before being both but by can could did do does each for from get had has have he her here hers him his how i if in into is it its just may me more most my no not of off on one or other our out over please shall she should so some such than that the their them then there these they thing things this those to too under up us very was we well were what when where which while who whom whose why will with would you your".split(
    " ",
  ),
);

export const isCommon = (word) => COMMON.has(word);

/** Longer words are split. */
const WORD = /[\p{L}\p{N}]{1,64}/gu;

/** Returns the words in lower case, without accents. A text without words counts as one word. */
export function wordsOf(text) {
  const folded = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return folded.match(WORD) ?? [folded.slice(0, 64)];
}

/** Returns the word and its n-grams of three to five letters: a typo or an ending changes only some. */
export function gramsOf(word) {
  const letters = ["<", ...word, ">"];
  const grams = [letters.join("")];
  for (const length of [3, 4, 5].filter((one) => one < letters.length)) {
    for (let start = 0; start + length <= letters.length; start++) {
      grams.push(letters.slice(start, start + length).join(""));
    }
  }
  return grams;
}
