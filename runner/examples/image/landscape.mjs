// Draws a landscape: a sky, a sun or moon, and hills one behind the other. Words choose the colors, and the
// rest of the text and the seed the shapes. It knows nothing else of what a prompt means.

/** Colors by words of a prompt: the sky above, the sky at the horizon, the nearest hill, the sun. */
const MOODS = [
  [/\b(?:night|midnight|moon|stars?|dark)\b/i, ["#0b1026", "#2b3a67", "#05070f", "#f3efd9"]],
  [/\b(?:dusk|sunset|evening|autumn|orange)\b/i, ["#3d2c5e", "#ff9e6d", "#2a1a2e", "#ffd9a0"]],
  [/\b(?:dawn|sunrise|morning|spring|pink)\b/i, ["#7fb2e5", "#ffd1c1", "#35524a", "#fff3c4"]],
  [/\b(?:snow|winter|ice|white)\b/i, ["#9fb8cf", "#eef4f8", "#5d7388", "#ffffff"]],
  [/\b(?:rain|storm|fog|mist|cloudy|gr[ae]y)\b/i, ["#5f6b76", "#aab4ba", "#2f383d", "#d9dcdb"]],
  [/\b(?:desert|sand|gold|yellow)\b/i, ["#6fb1d6", "#f7e3b0", "#a5652a", "#fff1b8"]],
  [/\b(?:red|fire|mars)\b/i, ["#5a1f1f", "#e8825a", "#2b0d0d", "#ffd0b0"]],
  [/\b(?:sea|ocean|lake|blue)\b/i, ["#2d78b8", "#c3e6f5", "#0f3556", "#fffbe0"]],
];
const DAY = ["#4a90d9", "#d7ecf7", "#2f5d34", "#fff6cf"];

const HILLS = 5;

/**
 * @param {{ prompt: string, seed: number, width: number, height: number }} what
 * @returns {import("./png.mjs").Picture}
 */
export function draw({ prompt, seed, width, height }) {
  const random = randomOf(`${seed} ${prompt}`);
  const [top, horizon, near, sun] = (MOODS.find(([words]) => words.test(prompt))?.[1] ?? DAY).map(
    rgb,
  );
  const pixels = new Uint8Array(width * height * 4).fill(255);
  const paint = (x, y, color) => pixels.set(color, (y * width + x) * 4);

  for (let y = 0; y < height; y++) {
    const color = between(top, horizon, (y / height) ** 0.8);
    for (let x = 0; x < width; x++) paint(x, y, color);
  }
  disc({ width, height, random, sun, pixels });
  for (let hill = 0; hill < HILLS; hill++) {
    const nearness = (hill + 1) / HILLS;
    const color = between(horizon, near, 0.25 + 0.75 * nearness);
    const ridge = ridgeOf(random, { base: 0.45 + 0.45 * nearness, rise: 0.22 * (1.2 - nearness) });
    for (let x = 0; x < width; x++) {
      const from = Math.max(0, Math.floor(ridge(x / width) * height));
      for (let y = from; y < height; y++) {
        const light = 1 - 0.35 * ((y - from) / height);
        paint(
          x,
          y,
          color.map((one) => one * light),
        );
      }
    }
  }
  return { width, height, pixels };
}

function disc({ width, height, random, sun, pixels }) {
  const size = Math.min(width, height);
  const [cx, cy] = [width * (0.15 + 0.7 * random()), height * (0.12 + 0.25 * random())];
  const radius = size * (0.05 + 0.05 * random());
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const distance = Math.hypot(x - cx, y - cy);
      const strength =
        distance < radius ? 1 : 0.45 * Math.max(0, 1 - (distance - radius) / (radius * 4)) ** 2;
      const at = (y * width + x) * 4;
      for (let c = 0; c < 3; c++) pixels[at + c] += (sun[c] - pixels[at + c]) * strength;
    }
  }
}

/** A sum of waves, the shorter the lower. */
function ridgeOf(random, { base, rise }) {
  const waves = Array.from({ length: 6 }, (_, n) => ({
    height: rise / 1.8 ** n,
    length: (1.5 + random()) * 1.9 ** n,
    from: random() * Math.PI * 2,
  }));
  return (x) =>
    waves.reduce(
      (y, { height, length, from }) => y + height * 0.5 * Math.sin(from + x * length * 2.4),
      base,
    );
}

/** Mulberry32, from a hash of the text (FNV-1a). */
function randomOf(text) {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(text)) state = Math.imul(state ^ byte, 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const rgb = (color) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

const between = (one, other, share) => one.map((from, n) => from + (other[n] - from) * share);
