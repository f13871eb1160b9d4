/** Limits of the part of a prediction that a page shows; all of it can be opened as JSON. */

export const MAX_LOG_LINES = 2_000;
export const MAX_CHARS = 256 * 1024;
/** Characters of a text that are laid out at once. */
export const MAX_TEXT_CHARS = 100 * 1024;
/** Characters of one branch of a tree that is folded: two embeddings of 768 numbers. */
export const MAX_FOLDED_CHARS = 32 * 1024;
/** Bytes or characters of the beginning that is shown of a value that is too large on its own. */
export const BEGINNING = 100 * 1024;
