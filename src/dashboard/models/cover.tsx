/** The cover of a model in the gallery: its picture, or a drawing that is made of its name. */
import type { ModelItem } from "../../protocol/model.ts";

interface Props extends Pick<ModelItem, "categories"> {
  /** `owner/name` */
  name: string;
  /** The URL of the model's picture. */
  url: string | undefined;
}

export const Cover = ({ name, categories, url }: Props) =>
  url === undefined ? (
    <Drawing name={name} categories={categories} />
  ) : (
    <img class="model-picture" src={url} alt="" loading="lazy" decoding="async" />
  );

const WIDTH = 160;
const HEIGHT = 60;
const TONES = ["raised", "line", "accent-ground"];

const Drawing = ({ name, categories }: Pick<Props, "name" | "categories">) => {
  const draw = categories.map(({ slug }) => BY_CATEGORY.get(slug)).find(Boolean) ?? tiles;
  const shapes = draw(numbersOf(name));
  return (
    <svg
      class="model-picture"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="xMidYMid slice"
      aria-hidden="true"
    >
      {TONES.map((tone, which) => (
        <path
          fill={`var(--${tone})`}
          d={shapes
            .filter((one) => one.tone === which)
            .map(({ d }) => d)
            .join("")}
        />
      ))}
    </svg>
  );
};

interface Shape {
  /** An index of TONES. */
  tone: number;
  /** A path. */
  d: string;
}

/** @param next a random number that the name determines */
type Draw = (next: () => number) => Shape[];

/** The two tones that differ from the background. */
const toned = (next: () => number, d: string): Shape => ({ tone: 1 + (next() % 2), d });

/** A bar with round ends; `r` is half of its height. */
const pill = (x: number, y: number, width: number, r: number) =>
  `M${x} ${y}h${width}a${r} ${r} 0 0 1 0 ${2 * r}h${-width}a${r} ${r} 0 0 1 0 ${-2 * r}z`;

const bubbles: Draw = (next) =>
  [6, 23, 40].map((y, n) => {
    const width = 44 + (next() % 50);
    const x = n % 2 === 0 ? 26 : WIDTH - 26 - width;
    return { tone: 1 + (n % 2), d: pill(x, y, width, 7) };
  });

const words: Draw = (next) =>
  [10, 20, 30, 40].flatMap((y) => {
    const line: Shape[] = [];
    for (let x = 24; x < 110 + (next() % 20); ) {
      const width = 3 + (next() % 18);
      line.push(toned(next, pill(x, y, width, 2.5)));
      x += width + 9;
    }
    return line;
  });

const wave: Draw = (next) =>
  Array.from({ length: 26 }, (_, n) => {
    const height = 4 + (next() % 22) + (next() % 22);
    const y = (HEIGHT - height) / 2;
    return toned(next, `M${4 + n * 6} ${y}a1.5 1.5 0 0 1 3 0v${height}a1.5 1.5 0 0 1-3 0z`);
  });

const points: Draw = (next) =>
  Array.from({ length: 48 }, () => {
    const r = 1 + (next() % 4);
    return toned(next, pill(next() % WIDTH, next() % HEIGHT, 0, r));
  });

const BY_CATEGORY = new Map([
  ["chat", bubbles],
  ["text-generation", words],
  ["speech-to-text", wave],
  ["text-to-speech", wave],
  ["embeddings", points],
]);

const COLUMNS = 8;
const ROWS = 3;
const SIZE = 20;

/** Quarter circles, which meet in curves that no two names have in common. */
const tiles: Draw = (next) => Array.from({ length: COLUMNS * ROWS }, (_, n) => tileAt(n, next));

/** Paths of a quarter circle, one for each corner that its middle can lie in. */
const QUARTERS = [
  (x: number, y: number) => `M${x} ${y}h${SIZE}a${SIZE} ${SIZE} 0 0 1-${SIZE} ${SIZE}z`,
  (x: number, y: number) => `M${x + SIZE} ${y}v${SIZE}a${SIZE} ${SIZE} 0 0 1-${SIZE}-${SIZE}z`,
  (x: number, y: number) =>
    `M${x + SIZE} ${y + SIZE}h-${SIZE}a${SIZE} ${SIZE} 0 0 1 ${SIZE}-${SIZE}z`,
  (x: number, y: number) => `M${x} ${y + SIZE}v-${SIZE}a${SIZE} ${SIZE} 0 0 1 ${SIZE} ${SIZE}z`,
];

function tileAt(n: number, next: () => number): Shape {
  const [x, y] = [(n % COLUMNS) * SIZE, Math.floor(n / COLUMNS) * SIZE];
  const shape = QUARTERS[next() % (QUARTERS.length + 1)];
  return { tone: next() % TONES.length, d: shape?.(x, y) ?? "" };
}

/** As random as a drawing needs: FNV-1a of the name, then xorshift. */
function numbersOf(name: string): () => number {
  let state = 0x811c9dc5;
  for (const character of name)
    state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  state ||= 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state >>> 8;
  };
}
