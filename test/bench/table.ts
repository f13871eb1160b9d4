/** The results of a part of the bench, and their printed form. */
export interface Verdict {
  what: string;
  value: number;
  /** The value should not be above `most`, or not below `least`. */
  bound: { most: number } | { least: number };
  /**
   * True for a limit that must hold: the bench fails without it. The others are targets on a noisy machine.
   */
  hard?: boolean;
}

export interface Table {
  title: string;
  head: string[];
  rows: string[][];
  notes?: string[];
  verdicts?: Verdict[];
}

export const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 1)} ms`;
export const perSecond = (value: number): string => `${Math.round(value).toLocaleString("en")}/s`;
export const times = (value: number): string => `${value.toFixed(2)} ×`;

export function print({ title, head, rows, notes = [], verdicts = [] }: Table): void {
  const widths = head.map((text, column) =>
    Math.max(text.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0)))
      .join("  ");
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  const text = [
    `\n${title}\n`,
    line(head),
    rule,
    ...rows.map(line),
    ...notes,
    ...verdicts.map(say),
  ];
  console.log(text.join("\n"));
}

export function holds({ value, bound }: Verdict): boolean {
  return "most" in bound ? value <= bound.most : value >= bound.least;
}

function say(verdict: Verdict): string {
  const { what, value, bound, hard } = verdict;
  const limit = "most" in bound ? `at most ${bound.most}` : `at least ${bound.least}`;
  const missed = hard ? "BROKEN" : "MISSED";
  const shown = Number.isInteger(value) ? value : value.toFixed(2);
  return `[${holds(verdict) ? "ok" : missed}] ${what}: ${shown} (${hard ? "limit" : "target"}: ${limit})`;
}
