/** What can be read of JSON text whose end is not there. */

/** An escape that was begun: `\\`, `\\u`, `\\u00e`; not a backslash that is escaped itself. */
const TORN_ESCAPE = /((?:^|[^\\])(?:\\\\)*)\\(?:u[\dA-Fa-f]{0,3})?$/;

/** @returns of a text the text itself, of everything else its JSON as it is */
export function readTruncatedJson(json: string): string {
  if (!json.startsWith('"')) return json;
  const whole = json.replace(TORN_ESCAPE, "$1");
  // A pair of which one half is there would be shown as a broken character.
  return JSON.parse(`${whole}"`).replace(/[\uD800-\uDBFF]$/, "");
}
