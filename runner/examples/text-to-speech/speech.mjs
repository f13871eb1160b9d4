import { GAPS, LETTER, RATE, soundOf } from "./voice.mjs";

const DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

/**
 * Returns the letters of a text and what separates them: a space, a comma or a period. Accents are left out.
 */
export function spokenText(text) {
  return text
    .normalize("NFD")
    .toLowerCase()
    .replace(/\d/g, (digit) => ` ${DIGITS[digit]} `)
    .replace(/[!?;:…]/g, (mark) => (mark === ";" || mark === ":" ? "," : "."))
    .replace(/[^a-z.,\s-]/g, "")
    .replace(/[\s-]+/g, " ")
    .replace(/ ?([.,])[ .,]*/g, "$1")
    .replace(/^[.,]/, "")
    .trim();
}

/**
 * The sound, a sentence at a time.
 * @returns {Generator<Float32Array>}
 */
export function* speak(text, { voice, speed }) {
  const sounds = new Map();
  const soundFor = (letter) => {
    const sound = sounds.get(letter) ?? soundOf(letter, voice, LETTER / speed);
    sounds.set(letter, sound);
    return sound;
  };
  const silence = (seconds) => new Float32Array(Math.round((seconds / speed) * RATE));
  for (const sentence of text.match(/[^.]+\.?/g) ?? []) {
    const parts = [];
    for (const [at, sign] of [...sentence].entries()) {
      if (sign === "." || sign === "," || sign === " ") continue;
      parts.push(soundFor(sign), silence(gapAfter(sentence[at + 1])));
    }
    yield joined(parts);
  }
}

function gapAfter(sign) {
  if (sign === ".") return GAPS.sentence;
  if (sign === ",") return GAPS.comma;
  return sign === " " ? GAPS.word : GAPS.letter;
}

export function joined(parts) {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
