// A voice that has one sound for each letter, made of formants: a buzz at the pitch of the voice, or
// noise, through three resonators. It is no speech of any language, but all of it can be told apart.

/** Samples per second. */
export const RATE = 16_000;

/** The pitch of each voice, in Hz. */
export const VOICES = { low: 105, high: 190 };

/** How long a letter sounds, in seconds, and the silences after one, after a word, a comma and a sentence. */
export const LETTER = 0.08;
export const GAPS = { letter: 0.02, word: 0.09, comma: 0.16, sentence: 0.28 };

/**
 * The sound of each letter: the fraction that is noise, and its three formants in Hz. Vowels and nasals have
 * the values that are measured in English; the other letters have those of their hiss or burst.
 */
export const SOUNDS = {
  a: [0, 730, 1090, 2440],
  b: [0.1, 250, 750, 2000],
  c: [0.9, 1500, 3200, 5200],
  d: [0.2, 300, 1700, 2700],
  e: [0, 530, 1840, 2480],
  f: [1, 1100, 2600, 6800],
  g: [0.2, 300, 1300, 2300],
  h: [1, 600, 1500, 2600],
  i: [0, 270, 2290, 3010],
  j: [0.4, 350, 2000, 3700],
  k: [1, 800, 1900, 3000],
  l: [0, 380, 950, 2900],
  m: [0, 250, 1000, 2200],
  n: [0, 250, 1450, 2300],
  o: [0, 570, 840, 2410],
  p: [1, 400, 900, 1600],
  q: [0.7, 500, 1200, 3400],
  r: [0, 490, 1350, 1690],
  s: [1, 4300, 5600, 7200],
  t: [1, 2600, 3900, 5000],
  u: [0, 300, 870, 2240],
  v: [0.5, 300, 1100, 4500],
  w: [0, 300, 610, 2150],
  x: [0.8, 900, 4000, 6200],
  y: [0, 300, 2100, 3400],
  z: [0.6, 280, 3900, 6300],
};

/** @returns {Float32Array} the sound of a letter, from silence to silence */
export function soundOf(letter, voice, seconds) {
  const [noise, ...formants] = SOUNDS[letter];
  let sound = sourceOf(VOICES[voice], noise, Math.round(seconds * RATE));
  for (const hertz of formants) sound = resonated(sound, hertz);
  const loudest = sound.reduce((most, sample) => Math.max(most, Math.abs(sample)), 1e-9);
  const fade = Math.round(0.008 * RATE);
  return sound.map((sample, at) => {
    const edge = Math.min(at + 1, sound.length - at, fade) / fade;
    return (0.7 * edge * sample) / loudest;
  });
}

/** Pulses of the vocal cords and hiss. The noise is the same each time, since its seed is fixed. */
function sourceOf(pitch, noise, length) {
  const period = Math.round(RATE / pitch);
  let state = 1;
  return Float32Array.from({ length }, (_, at) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const hiss = state / 2 ** 31 - 1;
    const pulse = at % period === 0 ? 6 : 0;
    return (1 - noise) * pulse + noise * hiss;
  });
}

/** Adds a little of the original sound, so that the other formants are heard as well. */
function resonated(sound, hertz) {
  const width = 60 + hertz / 25;
  const decay = Math.exp((-Math.PI * width) / RATE);
  const turn = 2 * decay * Math.cos((2 * Math.PI * hertz) / RATE);
  const gain = (1 - decay) * 2;
  let [last, before] = [0, 0];
  return sound.map((sample) => {
    const next = gain * sample + turn * last - decay * decay * before;
    [before, last] = [last, next];
    return next + 0.15 * sample;
  });
}
