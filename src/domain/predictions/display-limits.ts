/** How much of a prediction a page holds: all of it is there to be opened. */

/** Lines of the log, the last ones. */
export const MAX_LOG_LINES = 2_000;
/** Characters: of the log, of the input and of the output each. */
export const MAX_CHARS = 256 * 1024;
/** Characters of one branch of a tree that is folded: two embeddings of 768 numbers. */
export const MAX_FOLDED_CHARS = 32 * 1024;
/** Of a value that alone is more than that: bytes, or characters, of its beginning. */
export const BEGINNING = 32 * 1024;
