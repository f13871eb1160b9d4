/** Text of others (models, containers, deployments) as a terminal may show it. */

const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it keeps out.
  /\x1b\[[\d;]{0,32}m|[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Colours, tabs and line ends stay. What else a terminal obeys goes: it could rename the window, fill the clipboard,
 * or draw over what was there. Marks of the direction of writing go, too: they show a text in another order than the
 * one in which it is pasted. A sequence that comes in pieces loses its beginning.
 */
export const safeText = (text: string): string =>
  text.replace(CONTROLS, (found) => (found.length > 1 ? found : ""));
