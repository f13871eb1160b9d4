/** The header Range (RFC 9110). */

export interface ByteRange {
  first: number;
  last: number;
}

/** Whether a range is backward, such as `5-3`: the RFC allows to send all, OCI requires a refusal. */
export function isBackward(header: string | undefined): boolean {
  const [, from, to] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(header?.trim() ?? "") ?? [];
  return Number(to) < Number(from);
}

/** Undefined for no range, an unknown one and several; `unsatisfiable` for one behind the end. */
export function parseRange(
  header: string | undefined,
  size: number,
): ByteRange | "unsatisfiable" | undefined {
  const [, from, to] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (from === undefined || to === undefined || from + to === "") return undefined;
  if (from === "") {
    const length = Math.min(Number(to), size);
    return length === 0 ? "unsatisfiable" : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  const last = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== "" && Number(to) < first) return undefined;
  return first >= size ? "unsatisfiable" : { first, last };
}

/** The most ranges of one request: each part of an answer is a read of its own. */
export const MAX_RANGES = 100;

/**
 * Parses several ranges of one request.
 * @returns them in their order, without those that begin behind the end; `too many`; undefined for one range,
 * and for ranges that are more than the whole: the answer is then that without ranges, which the RFC allows
 */
export function parseRanges(
  header: string | undefined,
  size: number,
): ByteRange[] | "too many" | undefined {
  const [, list = ""] = /^bytes=(.*,.*)$/.exec(header?.trim() ?? "") ?? [];
  const parts = list.split(",").filter((part) => part.trim() !== "");
  if (parts.length < 2) return undefined;
  if (parts.length > MAX_RANGES) return "too many";
  const ranges = parts.map((part) => parseRange(`bytes=${part.trim()}`, size));
  if (ranges.includes(undefined)) return undefined;
  const satisfiable = ranges.filter((range) => typeof range === "object");
  const bytes = satisfiable.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  return satisfiable.length > 0 && bytes <= size ? satisfiable : undefined;
}
