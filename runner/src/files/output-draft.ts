/** Output values whose files are still being stored. */
import type { Json } from "../../../src/protocol/common.ts";

/** A placeholder for a string that stands for a file. */
export class Pending {
  /** The URL that the caller will see. */
  readonly address: Promise<string>;

  constructor(address: Promise<string>) {
    this.address = address;
    // A rejection is handled here, since `address` may never be awaited if another part of the value fails
    // first.
    address.catch(() => {});
  }
}

export type Draft = Json | Pending | Draft[] | { [key: string]: Draft };

/**
 * Returns the value with each string replaced by the result of `recognise`; the value itself if nothing
 * changes.
 * @param value no deeper than the limit for containers (interfaces/bounded-json.ts)
 */
export function createDraft(value: Json, recognise: (text: string) => Pending | string): Draft {
  if (typeof value === "string") return recognise(value);
  if (typeof value !== "object" || value === null) return value;
  let changed = false;
  const inner = (part: Json) => {
    const draft = createDraft(part, recognise);
    changed ||= draft !== part;
    return draft;
  };
  const draft = Array.isArray(value) ? value.map(inner) : mapValues(value, inner);
  return changed ? draft : value;
}

/** The value with URLs in place of the placeholders. */
export function fillDraft(draft: Draft, addresses: Map<Pending, string>): Json {
  if (draft instanceof Pending) return addresses.get(draft) ?? null;
  if (typeof draft !== "object" || draft === null) return draft;
  const inner = (part: Draft) => fillDraft(part, addresses);
  return Array.isArray(draft) ? draft.map(inner) : mapValues(draft, inner);
}

const mapValues = <A, B>(
  object: { [key: string]: A },
  change: (value: A) => B,
): { [key: string]: B } =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
