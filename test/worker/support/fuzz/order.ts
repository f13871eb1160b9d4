/** The order in which every operation succeeds. */
import type { DocumentedOperation } from "../../../../src/openapi/types.ts";

/** Things are renamed and deleted after all other requests, and after what is in them. */
export const laterness = ({ method, path }: DocumentedOperation): number =>
  method === "patch" || method === "delete" ? 1 / path.split("/").length : 0;

/** Returns the operations that make what a path names, the outermost first. */
export function makersOf(operations: DocumentedOperation[], path: string): DocumentedOperation[] {
  const made = [...path.matchAll(/{\w+}/g)].map(({ index }) => path.slice(0, index));
  return made.flatMap((before) => {
    const [named = ""] = path.slice(before.length).split("/");
    return operations.filter(
      (one) =>
        (one.method === "post" && `${one.path}/` === before) ||
        (one.method === "put" && [before + named, path].includes(one.path)),
    );
  });
}
