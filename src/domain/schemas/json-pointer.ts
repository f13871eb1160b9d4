/** Resolves `$ref`s that point into the same document. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";

/** The references that were read: a schema may lead to one of 50,000 characters thousands of times. */
const resolved = new WeakMap<object, Map<string, unknown>>();

/** Returns undefined for a pointer to nothing or into another document. @param root never modified */
export function resolvePointer(root: Json, ref: string): Json | undefined;
export function resolvePointer(root: unknown, ref: string): unknown;
export function resolvePointer(root: unknown, ref: string): unknown {
  if (typeof root !== "object" || root === null) return ref === "#" ? root : undefined;
  const known = resolved.get(root) ?? new Map<string, unknown>();
  resolved.set(root, known);
  if (!known.has(ref)) known.set(ref, partAt(root, ref));
  return known.get(ref);
}

function partAt(root: unknown, ref: string): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  let part = root;
  for (const name of ref.split("/").slice(1)) {
    if (part === undefined) return undefined;
    const key = decode(name).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(part)) part = part[Number(key)];
    else part = isObject(part) && Object.hasOwn(part, key) ? part[key] : undefined;
  }
  return part;
}

/** Decodes a name. The pointer is the fragment of a URI, and so may be percent-encoded. */
function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
