/** Calls that are repeated while they are answered 503, as SDKs do. */
import { expect } from "vitest";

const TRIES = 3;

/** @returns all statuses; the helper expects a Retry-After with each 503 */
export async function askedAgain(
  ask: () => Promise<{ status: number; headers: Iterable<[string, string]> }>,
): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < TRIES) {
    const { status, headers } = await ask();
    statuses.push(status);
    if (status !== 503) break;
    expect(Number(new Map(headers).get("retry-after"))).toBeGreaterThan(0);
  }
  return statuses;
}
