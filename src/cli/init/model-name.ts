/** What a model is called by the name of its folder. */
import { slug } from "../../protocol/common.ts";

/** “Bad Name!” → bad-name. @returns undefined where letters would be lost, as of “日本” */
export function modelNameOf(folder: string): string | undefined {
  // Accents are no letters of their own.
  const text = folder.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  if (/(?![a-z0-9])[\p{L}\p{N}]/u.test(text)) return undefined;
  const name = text
    .replace(/[^a-z0-9]+/g, (between) => (SEPARATOR.test(between) ? between : "-"))
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "");
  return slug.safeParse(name).success ? name : undefined;
}

const SEPARATOR = /^(?:\.|_{1,2}|-+)$/;
