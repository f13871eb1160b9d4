/** Text of others (models, containers, deployments) as a terminal may show it. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it keeps out.
const CONTROLS = /\x1b\[[\d;]{0,32}m|[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * Colours, tabs and line ends stay. What else a terminal obeys goes: it could rename the window, fill the clipboard,
 * or draw over what was there. A sequence that comes in pieces loses its beginning.
 */
export const safeText = (text: string): string =>
  text.replace(CONTROLS, (found) => (found.length > 1 ? found : ""));
