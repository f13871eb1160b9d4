/** The header `Retry-After` (RFC 9110, 10.2.3). */

/**
 * @param header seconds, or an HTTP date
 * @param now Unix ms
 * @returns ms, without a maximum; undefined when it is missing or invalid
 */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (!header) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return ms > 0 ? ms : undefined;
}
