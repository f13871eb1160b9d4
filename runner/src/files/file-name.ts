/** File names for containers: models look at the extension. */
import { safeName } from "../../../src/domain/files/file-name.ts";
import { extensionOf } from "../../../src/domain/files/media-types.ts";

/** A name that is safe in URLs and directories, with the media type's extension if it has none. */
export function nameFor(name: string, mimeType: string): string {
  const safe = safeName(name);
  const extension = /\.\w+$/.test(safe) ? undefined : extensionOf(mimeType);
  return extension === undefined ? safe : `${safe}.${extension}`;
}

/** The name that a web server gives, or the last part of the URL. */
export function webName(url: URL, disposition: string | undefined): string {
  const name = filenameParameter(disposition ?? "") ?? url.pathname.split("/").at(-1) ?? "";
  return decoded(name);
}

/** The parameter `filename` of Content-Disposition; the extended form takes precedence. */
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
