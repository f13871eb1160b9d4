/** The validator would try patterns with an engine that may take for ever; formats it asks us. */
const OF_PATTERN = "pattern:";

export const formatOfPattern = (pattern: string) => OF_PATTERN + pattern;

export const isFormatOfPattern = (name: string) => name.startsWith(OF_PATTERN);

/** undefined for an ordinary format. */
export const patternOfFormat = (name: unknown): string | undefined =>
  typeof name === "string" && isFormatOfPattern(name) ? name.slice(OF_PATTERN.length) : undefined;
