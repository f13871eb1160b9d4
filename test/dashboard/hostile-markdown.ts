/**
 * Texts whose reading takes quadratic time or worse where nothing bounds it: each took 3 to 39 s. Those that
 * are not `read` are shown as plain text.
 */
interface Hostile {
  what: string;
  text: string;
  read: boolean;
}

/** Repeats the pattern up to the length of the longest text that is shown. */
const full = (pattern: string) => pattern.repeat(Math.ceil(32_000 / pattern.length));

const REPEATED: Hostile[] = [
  "]*",
  "a\n=\n",
  "a\n-\n",
  "*a_ ",
  "\\^]",
  "^~",
  "]",
  "*a**",
  "[a][",
  "[](a (",
  "- - a\n",
  "1. 1. a\n",
  "> - > - a\n",
  `${"- ".repeat(16)}a\n`,
  "- a\n  - a\n    - a\n      - a\n",
].map((pattern) => ({
  what: `${JSON.stringify(pattern)}, again and again`,
  text: full(pattern),
  read: false,
}));

const UNCLOSED: Hostile[] = Object.entries({
  "a<": true,
  "a`": true,
  "\\a": true,
  "a\n": false,
  "w ": true,
  "*a<a> - ": false,
}).map(([pattern, read]) => ({
  what: `a bracket that nothing closes, and ${JSON.stringify(pattern)} again and again`,
  text: `[${full(pattern)}`,
  read,
}));

const indented = (by: string) =>
  Array.from({ length: 178 }, (_, depth) => `${by.repeat(depth)}- a\n`).join("");

export const HOSTILE: Hostile[] = [
  ...REPEATED,
  ...UNCLOSED,
  { what: "a list in a list, a hundred times", text: indented("  "), read: false },
  { what: "tabs", text: indented("\t"), read: false },
  {
    what: "a table's head of thousands",
    text: `${"|a".repeat(7_000)}\n${"|-".repeat(7_000)}\n${"|\n".repeat(1_400)}`,
    read: false,
  },
  {
    what: "an address with nothing but its end",
    text: `http://a/${"!".repeat(31_000)}a`,
    read: true,
  },
  { what: "entities in an address", text: `www.a/${full("&amp;")}`, read: true },
];
