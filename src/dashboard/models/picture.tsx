/** The picture of a model: its owner's, or tiles that are laid by its name, always the same. */

const COLUMNS = 8;
const ROWS = 3;
const SIZE = 20;

export const Picture = ({ name, cover }: { name: string; cover: string | undefined }) =>
  cover === undefined ? (
    <Tiles name={name} />
  ) : (
    <img class="model-picture" src={cover} alt="" loading="lazy" decoding="async" />
  );

/** Quarter circles, which meet in curves that no two names have in common. */
const Tiles = ({ name }: { name: string }) => {
  const next = numbersOf(name);
  const tiles = Array.from({ length: COLUMNS * ROWS }, (_, n) => tileAt(n, next));
  return (
    <svg
      class="model-picture tiles"
      viewBox={`0 0 ${COLUMNS * SIZE} ${ROWS * SIZE}`}
      preserveAspectRatio="xMidYMid slice"
      aria-hidden="true"
    >
      {TONES.map((tone, which) => (
        <path
          class={tone}
          d={tiles
            .filter((one) => one.tone === which)
            .map(({ d }) => d)
            .join("")}
        />
      ))}
    </svg>
  );
};

const TONES = ["light", "middle", "dark"];

/** Paths of a quarter circle, one for each corner that its middle can lie in. */
const QUARTERS = [
  (x: number, y: number) => `M${x} ${y}h${SIZE}a${SIZE} ${SIZE} 0 0 1-${SIZE} ${SIZE}z`,
  (x: number, y: number) => `M${x + SIZE} ${y}v${SIZE}a${SIZE} ${SIZE} 0 0 1-${SIZE}-${SIZE}z`,
  (x: number, y: number) =>
    `M${x + SIZE} ${y + SIZE}h-${SIZE}a${SIZE} ${SIZE} 0 0 1 ${SIZE}-${SIZE}z`,
  (x: number, y: number) => `M${x} ${y + SIZE}v-${SIZE}a${SIZE} ${SIZE} 0 0 1 ${SIZE} ${SIZE}z`,
];

function tileAt(n: number, next: () => number) {
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
