/** Numbers and durations in sentences. */

export const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;

/** Of a runner that is kept until its runs have ended. */
export const freeText = (ms: number): string =>
  ms <= 0
    ? "should be free by now: what runs there takes longer than expected"
    : `is expected to be free in ${aboutText(ms)}`;

export function aboutText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  return seconds < 90 ? `about ${seconds} s` : `about ${Math.round(seconds / 60)} min`;
}
