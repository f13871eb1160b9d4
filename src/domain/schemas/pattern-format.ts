/** The validator would try patterns with an engine that may take for ever; formats it asks us. */
const OF_PATTERN = "pattern:";

export const patternToFormat = (pattern: string) => OF_PATTERN + pattern;

export const isPatternFormat = (name: string) => name.startsWith(OF_PATTERN);

/** undefined for an ordinary format. */
export const formatToPattern = (name: unknown): string | undefined =>
  typeof name === "string" && isPatternFormat(name) ? name.slice(OF_PATTERN.length) : undefined;
