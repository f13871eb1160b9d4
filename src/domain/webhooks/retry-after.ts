/** How long a receiver asks not to be tried again: `Retry-After`, RFC 9110 10.2.3. */

/**
 * @param header seconds, or a date as HTTP has it
 * @param now ms since 1970
 * @returns ms, as long as it likes; undefined when nothing that can be understood is asked for
 */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (!header) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return ms > 0 ? ms : undefined;
}
