/** Resolves `$ref`s that point into the same document. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";

/** Undefined for a pointer to nothing, and for one into another document. */
export function resolvePointer(root: Json, ref: string): Json | undefined {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  let part: Json | undefined = root;
  for (const name of ref.split("/").slice(1)) {
    const key = decode(name).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(part)) part = part[Number(key)];
    else part = isObject(part) && Object.hasOwn(part, key) ? part[key] : undefined;
  }
  return part;
}

/** The pointer is the fragment of a URI, and so may be percent-encoded. */
function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
