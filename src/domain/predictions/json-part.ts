/** Names a part of a JSON value: RFC 6901. */
import type { Json } from "../../protocol/common.ts";

export const pointerTo = (parent: string, key: string): string =>
  `${parent}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** @returns undefined when there is no such part */
export function partAt(value: Json, pointer: string): Json | undefined {
  if (pointer === "") return value;
  const keys = pointer.split("/").slice(1);
  let part: Json | undefined = value;
  for (const one of keys) {
    if (typeof part !== "object" || part === null) return undefined;
    const key = one.replaceAll("~1", "/").replaceAll("~0", "~");
    part = Object.getOwnPropertyDescriptor(part, key)?.value;
  }
  return part;
}
