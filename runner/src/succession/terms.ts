/** What both processes of a runner must have been started with alike, and in what they differ. */
import { z } from "zod";

const record = z.record(z.string(), z.unknown());

/** As text, which two processes compare. */
export const termsOf = (alike: Record<string, unknown>): string =>
  JSON.stringify(alike, (_, value) => (value instanceof Map ? [...value] : value));

/** @returns what they have differently: by name, since a log need not have their values */
export function differences(one: string, other: string): string[] {
  const [a, b] = [parsed(one), parsed(other)];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]),
  );
}

function parsed(terms: string): Record<string, unknown> {
  try {
    return record.parse(JSON.parse(terms));
  } catch {
    return {};
  }
}
