/** The beginning of a text on one line, with an ellipsis where it is cut. */
export function oneLine(text: string, maxChars: number): string {
  const line = text
    .slice(0, 4 * maxChars)
    .trim()
    .replaceAll(/\s+/g, " ");
  return line.length > maxChars ? `${line.slice(0, maxChars - 1).toWellFormed()}…` : line;
}
