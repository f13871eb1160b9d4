/** Serves a file: whole, a range of it, or 304 for a conditional request. */
import { parseRange } from "../../domain/files/byte-range.ts";
import { disposition } from "../../domain/files/file-name.ts";
import { asUtf8, lacksCharset, servedType } from "../../domain/files/file-type.ts";
import { notFound, ProblemError } from "../../errors/errors.ts";
import { cached } from "../../storage/cache.ts";
import { type FileFacts, factsOf, getFile, headFile } from "../../storage/files/files.ts";
import { findUpload } from "../../storage/files/uploads.ts";
import type { Services } from "../services.ts";

/** How long a browser may cache a file. Files never change, but they can be deleted. */
const CACHE_SECONDS = 300;

/** Headers that may lead to another response than the whole file. */
const ASKS_MORE = ["range", "if-none-match", "if-modified-since"];

const uploadCache = cached({ max: 1_000 }, ({ db }: Services, id: string) => findUpload(db, id));

/**
 * Returns the facts of a file. R2's facts are as old as the upload: D1 says whether the bytes turned out to
 * be UTF-8.
 */
export async function checkedFacts(services: Services, found: R2Object): Promise<FileFacts> {
  const facts = factsOf(found);
  if (facts.is_utf8 || !lacksCharset(facts.mime_type)) return facts;
  const [source = ""] = found.key.split("/");
  const upload = await uploadCache.get(services, source);
  return { ...facts, ...(upload?.is_utf8 && { is_utf8: true }) };
}

/** @throws ProblemError not_found, range_not_satisfiable */
export async function fileResponse(
  services: Services,
  key: string,
  request: Request,
): Promise<Response> {
  const { env } = services;
  const headersOf = async (found: R2Object, length?: number) =>
    fileHeaders(await checkedFacts(services, found), found, length);
  const asksMore = request.method === "HEAD" || ASKS_MORE.some((name) => request.headers.has(name));
  const whole = asksMore ? null : await getFile(env.FILES, key);
  if (whole) return new Response(whole.body, { headers: await headersOf(whole, whole.size) });
  const found = await headFile(env.FILES, key);
  if (!found) throw notFound("This file");
  if (isKnown(request, found))
    return new Response(null, { status: 304, headers: await headersOf(found) });
  // HEAD ignores ranges, and R2 cannot read a range of an empty file.
  if (request.method === "HEAD" || found.size === 0)
    return new Response(null, { headers: await headersOf(found, found.size) });
  const wanted = isCurrent(request, found) ? request.headers.get("range") : null;
  const range = parseRange(wanted ?? undefined, found.size);
  if (range === "unsatisfiable") {
    throw new ProblemError("range_not_satisfiable", `The file has ${found.size} bytes.`, {
      "content-range": `bytes */${found.size}`,
    });
  }
  const { first, last } = range ?? { first: 0, last: found.size - 1 };
  const length = last - first + 1;
  const headers = await headersOf(found, length);
  if (range) headers.set("content-range", `bytes ${first}-${last}/${found.size}`);
  const status = range ? 206 : 200;
  const file = await getFile(env.FILES, key, { range: { offset: first, length } });
  if (!file) throw notFound("This file");
  return new Response(file.body, { status, headers });
}

/** @param length of the body in bytes, so that clients detect a truncated one */
function fileHeaders(
  { name, mime_type, is_utf8 }: FileFacts,
  found: R2Object,
  length: number | undefined,
): Headers {
  return new Headers({
    "content-type": servedType(is_utf8 ? asUtf8(mime_type) : mime_type),
    "content-disposition": disposition(name, mime_type),
    "accept-ranges": "bytes",
    etag: found.httpEtag,
    "last-modified": found.uploaded.toUTCString(),
    "cache-control": `private, max-age=${CACHE_SECONDS}`,
    // User content must not run scripts on this origin.
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "cross-origin",
    "referrer-policy": "no-referrer",
    ...(length !== undefined && { "content-length": String(length) }),
  });
}

/** If-None-Match takes precedence over If-Modified-Since (RFC 9110). */
function isKnown({ headers }: Request, { httpEtag, uploaded }: R2Object): boolean {
  const tags = headers.get("if-none-match");
  if (tags !== null) {
    return tags.split(",").some((tag) => ["*", httpEtag].includes(tag.trim().replace(/^W\//, "")));
  }
  const since = headers.get("if-modified-since");
  return since !== null && Math.floor(uploaded.getTime() / 1000) * 1000 <= Date.parse(since);
}

/** If-Range applies the range only if the file has not changed. */
function isCurrent({ headers }: Request, { httpEtag }: R2Object): boolean {
  const tag = headers.get("if-range");
  return tag === null || tag === httpEtag;
}
