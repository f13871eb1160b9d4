/** @param seconds 0 or more */
export function duration(seconds: number): string {
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  return longDuration(Math.round(seconds));
}

/** Returns a duration without fractions, which would flicker in a running clock. @param seconds whole */
export function longDuration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param text seconds, as the API writes them; null: not known yet */
export const durationText = (text: string | null): string =>
  text === null ? "–" : duration(Number(text));
