/** A call that is made again while it is answered 503, as SDKs do. */
import { expect } from "vitest";

const TRIES = 3;

/** @returns all statuses; each 503 has said when to ask again */
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
