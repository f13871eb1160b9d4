/** Numbers and durations in sentences. */

export const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;

export const inText = (ms: number): string => (ms <= 0 ? "at any moment" : `in ${aboutText(ms)}`);

export function aboutText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  return seconds < 90 ? `about ${seconds} s` : `about ${Math.round(seconds / 60)} min`;
}
