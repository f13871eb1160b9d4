/** How a terminal's text looks: what the escape `ESC [ … m` sets ("select graphic rendition"). */

/** Colors are those of a terminal with 16: 0 to 7, and 8 to 15 for their bright twins. */
export interface Style {
  fg: number | null;
  bg: number | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

export const PLAIN: Style = {
  fg: null,
  bg: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
};

/** Programs set two or three at a time. */
const MAX_CODES = 32;

/** @param parameters what stands between `ESC [` and `m` */
export function withSgr(style: Style, parameters: string): Style {
  const codes = parameters.split(";", MAX_CODES).flatMap(codesOf);
  let next = style;
  for (let n = 0; n < codes.length; n++) {
    const code = codes[n] ?? 0;
    if (code !== 38 && code !== 48) {
      next = withCode(next, code);
      continue;
    }
    const kind = codes[n + 1];
    const [, , a = 0, b = 0, c = 0] = codes.slice(n, n + 5);
    const color = kind === 5 ? nearestOf256(a) : nearest(a, b, c);
    if (kind === 5 || kind === 2) next = { ...next, [code === 38 ? "fg" : "bg"]: color };
    n += kind === 5 ? 2 : 4;
  }
  return next;
}

/** `4:3` is a wavy underline, `38:2::255:0:0` a color, and an empty one is a 0. */
function codesOf(text: string): number[] {
  const [first = "", ...others] = text.split(":");
  if (others.length === 0) return [Number(first)];
  if (first === "38" || first === "48")
    return [first, ...others.filter((part) => part !== "")].map(Number);
  return [first === "4" && others[0] === "0" ? 24 : Number(first)];
}

function withCode(style: Style, code: number): Style {
  if (code >= 30 && code <= 37) return { ...style, fg: code - 30 };
  if (code >= 90 && code <= 97) return { ...style, fg: code - 82 };
  if (code >= 40 && code <= 47) return { ...style, bg: code - 40 };
  if (code >= 100 && code <= 107) return { ...style, bg: code - 92 };
  return code === 0 ? PLAIN : { ...style, ...CHANGES[code] };
}

const CHANGES: Record<number, Partial<Style>> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  21: { underline: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  27: { inverse: false },
  39: { fg: null },
  49: { bg: null },
};

/** The levels of a channel in the color cube of 256 colors. */
const CUBE = [0, 95, 135, 175, 215, 255];

function nearestOf256(n: number): number {
  if (n < 16) return n;
  if (n >= 232) return nearest(8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232));
  const level = (step: number) => CUBE[Math.floor((n - 16) / step) % 6] ?? 0;
  return nearest(level(36), level(6), level(1));
}

/** Of 16 colors the one with this hue; without one, the gray. */
function nearest(red: number, green: number, blue: number): number {
  const max = Math.max(red, green, blue);
  const min = Math.min(red, green, blue);
  if (max - min < 40) return [0, 8, 7, 15][Math.min(3, Math.floor(max / 64))] ?? 15;
  const middle = (max + min) / 2;
  const bits = Number(red > middle) + 2 * Number(green > middle) + 4 * Number(blue > middle);
  return max > 200 ? bits + 8 : bits;
}

const FLAGS = ["bold", "dim", "italic", "underline"] as const;

/** The names of its CSS classes; empty for plain text. */
export function classesOf(style: Style): string {
  const { fg, bg, inverse } = style;
  const names: string[] = FLAGS.filter((name) => style[name]);
  const isSwapped = inverse && (fg !== null || bg !== null);
  const [text, ground] = isSwapped ? [bg, fg] : [fg, bg];
  if (inverse && !isSwapped) names.push("inverse");
  if (text !== null) names.push(`fg-${text}`);
  if (ground !== null) names.push(`bg-${ground}`);
  return names.join(" ");
}
