/**
 * Lines of CSV, as RFC 4180 has them. Of the packages for it, csv-stringify's and papaparse's types bring
 * those of Node into the Worker.
 */

/** A semicolon or a tab parts cells where a comma is for decimals. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

/** A spreadsheet takes what begins so for a formula, and runs it; a quote before it keeps it a text. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@]|^[\t\r]/u;

export const csvLine = (cells: readonly (string | number)[]): string =>
  `${cells.map(cell).join(",")}\r\n`;

function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
