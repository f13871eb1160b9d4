/** What people paste into a shell. */

/** One word, for a POSIX shell. */
export const quoted = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A path, which may look like an option. */
export const quotedPath = (path: string): string =>
  quoted(path.startsWith("-") ? `./${path}` : path);
