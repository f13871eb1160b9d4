/** Splits patterns into tokens, and translates those that match one character to RE2 syntax. */

/** RE2 does not support it. */
export class UnsupportedPattern extends Error {}

/** Matches one character. */
interface Member {
  source: string;
  weight: number;
}

/** Whole escapes; the start of a group with its kind; counted repetitions; any other character. */
const TOKENS = new RegExp(
  [
    String.raw`\\u\{[\da-f]+\}`,
    String.raw`\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}`,
    String.raw`\\u[\da-f]{4}`,
    String.raw`\\x[\da-f]{2}`,
    String.raw`\\c[a-z]`,
    String.raw`\\p\{[^}]*\}`,
    String.raw`\\.`,
    String.raw`\(\?(?::|<(?![=!])[^>]*>)`,
    String.raw`\(\??`,
    String.raw`\{\d+(?:,\d*)?\}`,
    "[^]",
  ].join("|"),
  "giu",
);

/** By `match`, not by capturing groups: a schema can have 10 MB of patterns. */
export const tokenize = (pattern: string): string[] => pattern.match(TOKENS) ?? [];

/** JavaScript's definitions, which include more spaces and line ends. */
const SPACES = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const NO_SPACES = String.raw`\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;
const NO_END_OF_LINE = String.raw`[^\n\r\x{2028}\x{2029}]`;
const ANYTHING = String.raw`[\x00-\x{10ffff}]`;
const NOTHING = String.raw`[^\x00-\x{10ffff}]`;

/** 16 ranges cost one more look-up. */
const RANGE_WEIGHT = 1 / 16;

/** A property has at most 650 ranges. */
const PROPERTY_WEIGHT = 40;

/** Translates a character class, from after its opening bracket to the closing one. */
export function translateClass(tokens: Iterator<string>): Member {
  let source = "";
  let weight = 1;
  let isNegated = false;
  for (let { value, done } = tokens.next(); !done; { value, done } = tokens.next()) {
    if (value === "]") break;
    if (value === "^" && source === "" && !isNegated) {
      isNegated = true;
      continue;
    }
    const member = inSet(value);
    source += member.source;
    weight += member.weight;
  }
  if (source === "") return { source: isNegated ? ANYTHING : NOTHING, weight };
  return { source: `[${isNegated ? "^" : ""}${source}]`, weight };
}

function inSet(token: string): Member {
  if (token === "\\s") return { source: SPACES, weight: 1 };
  if (token === "\\S") return { source: NO_SPACES, weight: 1 };
  if (token === "\\b") return { source: "\\x08", weight: RANGE_WEIGHT };
  // An unescaped hyphen makes a range.
  if (token === "-") return { source: token, weight: 0 };
  if (!token.startsWith("\\")) return { source: quoted(token), weight: RANGE_WEIGHT };
  const { source, weight } = translateToken(token);
  return { source, weight: weight === 1 ? RANGE_WEIGHT : weight };
}

/** Outside of classes. @throws UnsupportedPattern */
export function translateToken(token: string): Member {
  if (token === ".") return { source: NO_END_OF_LINE, weight: 1 };
  if (token === "\\s") return { source: `[${SPACES}]`, weight: 1 };
  if (token === "\\S") return { source: `[${NO_SPACES}]`, weight: 1 };
  if (token.startsWith("\\p") || token.startsWith("\\P")) return ofProperty(token);
  return { source: token.startsWith("\\") ? escaped(token) : quoted(token), weight: 1 };
}

function escaped(token: string): string {
  switch (token[1]) {
    case "u":
      return quoted(characterOf(token));
    case "x":
      return quoted(String.fromCharCode(Number.parseInt(token.slice(2), 16)));
    case "c":
      return quoted(String.fromCharCode(token.charCodeAt(2) % 32));
    case "0":
      return "\\x00";
    default:
      // Back-references, by number or name.
      if (/[1-9k]/.test(token[1] ?? "")) throw new UnsupportedPattern();
      return token;
  }
}

/** @param token `\u{1f408}`, `\u0041`, or a surrogate pair */
function characterOf(token: string): string {
  const [first = 0, second] =
    token.match(/[\da-f]+/gi)?.map((digits) => Number(`0x${digits}`)) ?? [];
  if (second !== undefined) return String.fromCharCode(first, second);
  return String.fromCodePoint(first);
}

/** Escapes a literal character. @throws UnsupportedPattern for a lone surrogate */
function quoted(character: string): string {
  if (/^\w$/.test(character)) return character;
  if (!character.isWellFormed()) throw new UnsupportedPattern();
  return `\\x{${character.codePointAt(0)?.toString(16)}}`;
}

/** Categories with the same meaning in both. JavaScript's `C` also includes unassigned characters. */
const CATEGORY = /^\\.\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?)\}$/;

function ofProperty(token: string): Member {
  if (!CATEGORY.test(token)) throw new UnsupportedPattern();
  return { source: token, weight: PROPERTY_WEIGHT };
}
