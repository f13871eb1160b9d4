/** UUIDv7 as places in time. */

/** What all ids that are made from a moment on (unix ms) come after, and those before it come before. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
