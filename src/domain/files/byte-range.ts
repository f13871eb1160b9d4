/** The header Range (RFC 9110), as far as one range goes. */

/** Bytes, the last one included. */
export interface ByteRange {
  first: number;
  last: number;
}

/** `5-3`: the RFC lets us send all, and OCI wants it refused. */
export function isBackward(header: string | undefined): boolean {
  const [, from, to] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(header?.trim() ?? "") ?? [];
  return Number(to) < Number(from);
}

/**
 * @param size of the file, bytes.
 * @returns undefined for no range, one that is not understood and several: then all is sent, as
 * the RFC allows; `unsatisfiable` for one that begins behind the end.
 */
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
