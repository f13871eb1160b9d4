/** Reads JSON text whose end is missing. */

/** An incomplete escape at the end: `\\`, `\\u`, `\\u00e`; not an escaped backslash. */
const TORN_ESCAPE = /((?:^|[^\\])(?:\\\\)*)\\(?:u[\dA-Fa-f]{0,3})?$/;

/** @returns the content of a string; anything else verbatim */
export function readTruncatedJson(json: string): string {
  if (!json.startsWith('"')) return json;
  const whole = json.replace(TORN_ESCAPE, "$1");
  // Half a surrogate pair would be shown as a broken character.
  return JSON.parse(`${whole}"`).replace(/[\uD800-\uDBFF]$/, "");
}
