// Understands the voice of voice.mjs: finds its sounds between the silences, compares the spectrum of each
// with those of all letters, and reads words and sentences from the length of the silences.

import { GAPS, LETTER, RATE, SOUNDS, soundOf, VOICES } from "./voice.mjs";

/** A fraction of the loudest sample: quieter samples are silence. */
const QUIET = 0.02;

/** Sounds are joined across shorter silences: those between two pulses of a voice. */
const SHORTEST_GAP = 0.006;

/** The centers of the bands in which loudness is compared, in Hz: closer to each other where formants are. */
const BANDS = Array.from({ length: 40 }, (_, n) => 180 * 1.1 ** n).filter((hertz) => hertz < 7_800);

/** The quietest that counts, of the loudest band. */
const FLOOR = 1e-3;

/** @returns {{ text: string, start: number, end: number, words: object[] }[]} sentences, in seconds */
export function hear(samples) {
  const letters = lettersOf();
  const sounds = soundsIn(samples).map(({ from, to }) => {
    const heard = samples.subarray(from, to);
    return { letter: nearest(letters, bandsOf(heard)), start: from / RATE, end: to / RATE };
  });
  return sentencesOf(sounds, samples.length / RATE);
}

/** Returns the loudness of each letter in each band, for each voice. */
function lettersOf() {
  return Object.keys(VOICES).flatMap((voice) =>
    Object.keys(SOUNDS).map((letter) => ({
      letter,
      bands: bandsOf(soundOf(letter, voice, LETTER)),
    })),
  );
}

/** From the first to past the last sample of each sound. */
function soundsIn(samples) {
  const loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  const sounds = [];
  for (const [at, sample] of samples.entries()) {
    if (loudest === 0 || Math.abs(sample) < QUIET * loudest) continue;
    const last = sounds.at(-1);
    if (last && at - last.to < SHORTEST_GAP * RATE) last.to = at + 1;
    else sounds.push({ from: at, to: at + 1 });
  }
  return sounds.filter(({ from, to }) => to - from > SHORTEST_GAP * RATE);
}

/** Returns the loudness of each band on a logarithmic scale around the average, without the volume. */
function bandsOf(samples) {
  const powers = BANDS.map((hertz) => powerAt(samples, hertz));
  const floor = FLOOR * Math.max(...powers);
  const levels = powers.map((power) => Math.log(Math.max(power, floor) || 1));
  const mean = levels.reduce((sum, level) => sum + level, 0) / levels.length;
  return levels.map((level) => level - mean);
}

/** Averaged over short frames, so that a band is wide enough for any pitch. */
function powerAt(samples, hertz) {
  const frame = 128;
  const turn = 2 * Math.cos((2 * Math.PI * hertz) / RATE);
  let sum = 0;
  let count = 0;
  for (let start = 0; start + frame <= samples.length; start += frame / 2, count++) {
    let [last, before] = [0, 0];
    for (let n = 0; n < frame; n++) {
      const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / frame);
      const next = window * samples[start + n] + turn * last - before;
      [before, last] = [last, next];
    }
    sum += last * last + before * before - turn * last * before;
  }
  return sum / Math.max(count, 1);
}

function nearest(letters, bands) {
  const far = ({ bands: own }) => own.reduce((sum, level, n) => sum + (level - bands[n]) ** 2, 0);
  return letters.reduce((best, one) => (far(one) < far(best) ? one : best)).letter;
}

/** @param {{ letter: string, start: number, end: number }[]} sounds */
function sentencesOf(sounds, duration) {
  const sentences = [];
  // The pace of the voice follows from the length of its letters.
  const lengths = sounds.map(({ start, end }) => end - start).toSorted((a, b) => a - b);
  const pace = (lengths[Math.floor(lengths.length / 2)] ?? LETTER) / LETTER;
  const isAfter = (gap, [shorter, longer]) => gap > ((GAPS[shorter] + GAPS[longer]) / 2) * pace;
  for (const [n, { letter, start, end }] of sounds.entries()) {
    const gap = n === 0 ? Number.POSITIVE_INFINITY : start - sounds[n - 1].end;
    const sentence = sentences.at(-1);
    if (isAfter(gap, ["comma", "sentence"])) {
      if (sentence) sentence.text += ".";
      sentences.push({ text: letter, start, end, words: [{ word: letter, start, end }] });
      continue;
    }
    const isWord = isAfter(gap, ["letter", "word"]);
    if (isWord) {
      sentence.text += isAfter(gap, ["word", "comma"]) ? ", " : " ";
      sentence.words.push({ word: "", start, end });
    }
    const word = sentence.words.at(-1);
    word.word += letter;
    word.end = end;
    sentence.text += letter;
    sentence.end = end;
  }
  const last = sentences.at(-1);
  if (last && isAfter(duration - last.end, ["comma", "sentence"])) last.text += ".";
  return sentences;
}
