/** What a file is called in front of a container: models look at the ending. */
import mime from "mime/lite";
import { safeName } from "../../../src/domain/files/file-name.ts";

/** Safe in an address and in a folder, with the ending of its type when it had none. */
export function nameFor(name: string, mimeType: string): string {
  const safe = safeName(name);
  const extension = /\.\w+$/.test(safe) ? null : mime.getExtension(mimeType);
  return extension === null ? safe : `${safe}.${extension}`;
}

/** What a web server calls it, or else the last part of its address. */
export function webName(url: URL, disposition: string | undefined): string {
  const name = filenameParameter(disposition ?? "") ?? url.pathname.split("/").at(-1) ?? "";
  return decoded(name);
}

/** The parameter `filename` of Content-Disposition, the one that takes all characters first. */
function filenameParameter(disposition: string): string | undefined {
  const [, extended] = /;\s*filename\*\s*=\s*UTF-8'[\w-]*'([^;\s]+)/i.exec(disposition) ?? [];
  if (extended !== undefined) return extended;
  const [, quoted, token] =
    /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(disposition) ?? [];
  return quoted ?? token;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
