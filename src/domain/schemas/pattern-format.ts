/** Disguises patterns as formats: the validator's own regex engine has no time limit, but it calls us for formats. */
const OF_PATTERN = "pattern:";

export const patternToFormat = (pattern: string) => OF_PATTERN + pattern;

export const isPatternFormat = (name: string) => name.startsWith(OF_PATTERN);

/** @returns undefined for an ordinary format */
export const formatToPattern = (name: unknown): string | undefined =>
  typeof name === "string" && isPatternFormat(name) ? name.slice(OF_PATTERN.length) : undefined;
