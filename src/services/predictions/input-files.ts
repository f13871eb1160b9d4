/** The files that an input references: found when a prediction is created, fetched by its runner. */
import { accessToUpload } from "../../domain/accounts/access.ts";
import { ROWS_OF } from "../../domain/accounts/write-rows.ts";
import { asUtf8 } from "../../domain/files/file-type.ts";
import { type FoundString, findStrings, findUriStrings } from "../../domain/files/input-files.ts";
import { invalid, type Loc } from "../../domain/schemas/validation.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { Json } from "../../protocol/common.ts";
import { type OneFile, oneFile, signedQuery } from "../../protocol/file.ts";
import type { InputFile } from "../../protocol/runner.ts";
import { type FileFacts, fileKey, headFile } from "../../storage/files/files.ts";
import { findOwnUploads, keepUploads, type UploadRow } from "../../storage/files/uploads.ts";
import { type Caller, requireAccess } from "../access/access.ts";
import { withinWriteLimit } from "../access/write-limit.ts";
import { checkedFacts } from "../files/file-response.ts";
import { accessToSource, createFileUrl } from "../files/files.ts";
import { isValidSignature, signedFileUrl } from "../files/signed-urls.ts";
import type { Services } from "../services.ts";
import type { InlineFiles } from "./inline-files.ts";

/** How long the URLs of a page are valid: long enough to look at it. */
const PAGE_URL_SECONDS = 3_600;

const MAX_URLS = 20;

const SIGNED_URL =
  /"(https?:\/\/[^"/\\]+)\/v1\/files\/([\w-]+)\/([\w.-]+)\?expires=(\d+)&signature=[\w-]+"/g;

const QUOTED_UPLOAD =
  /"(?:(https?:\/\/[^"/\\]+))?(?:\/v1\/uploads|\/replicate\/v1\/files)\/([0-9a-f-]{36})"(?!\s*:)/gi;

/**
 * The files of one input at most: a D1 statement takes 100 parameters, and one runner has to fetch all files.
 */
const MAX_FILES = 90;

/** An upload, as our own API or Replicate's names it. */
const UPLOAD = /^(?:\/v1\/uploads|\/replicate\/v1\/files)\/([0-9a-f-]{36})$/i;
const FILE = /^\/v1\/files\/([^/]+)\/([^/]+)$/;

interface FileSearch {
  schema: Json;
  input: Json;
  text: string;
  origin: string;
  sent: InlineFiles | undefined;
}

/**
 * @throws ValidationFailure for an upload that does not exist or is not completed, and too many files
 * @throws ProblemError forbidden for a file outside the token's scope
 */
export async function inputFiles(
  services: Services,
  caller: Caller,
  { schema, input, text, origin, sent }: FileSearch,
): Promise<InputFile[]> {
  const ours = /\/v1\/(?:uploads|files)\//.test(text);
  const web = /"https?:/i.test(text) && mentionsUri(schema);
  if (!ours && !web) return [];
  const isLikely = (value: string) => localUrl(value, origin) !== undefined;
  const [likely, addresses] = boundedSearch(() => [
    ours ? findStrings({ like: isLikely, most: MAX_FILES }, input) : [],
    web ? findUriStrings(schema, input, { like: isWeb, most: MAX_FILES }) : [],
  ]);
  if (likely.length > MAX_FILES || addresses.length > MAX_FILES) {
    throw invalid(["body", "input"], `An input may reference at most ${MAX_FILES} files.`);
  }
  const files = [
    ...inlineFiles(likely, sent),
    ...(await ownFiles(
      services,
      caller,
      likely.filter((found) => !fileIn(sent, found)),
      origin,
    )),
  ];
  const taken = new Set(files.map(({ at }) => JSON.stringify(at)));
  return [
    ...files,
    ...addresses.filter(({ at }) => !taken.has(JSON.stringify(at))).map(({ at }) => ({ at })),
  ];
}

const uriMentions = new WeakMap<object, boolean>();

/** Whether a schema has fields for URIs. Schemas come from a cache: each is searched once. */
function mentionsUri(schema: Json): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  let found = uriMentions.get(schema);
  if (found === undefined) {
    found = JSON.stringify(schema).includes('"uri"');
    uriMentions.set(schema, found);
  }
  return found;
}

/** Whether a text is a web address. A container gets data URIs verbatim. */
const isWeb = (text: string) => /^https?:/i.test(text);

/** @throws ValidationFailure for a recursive schema, or files that are nested too deeply */
function boundedSearch<T>(search: () => T): T {
  try {
    return search();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalid(
      ["body", "input"],
      `The search for files, where the schema has format uri, exceeds its limit: ${error.message}`,
    );
  }
}

/**
 * Returns the URL if it may be that of an upload or file of this deployment. Any host is accepted: a
 * deployment may have several, and the ids decide.
 */
function localUrl(text: string, origin: string): URL | undefined {
  if (!/^(?:https?:\/\/[^/]+)?(?:\/replicate)?\/v1\/(?:uploads|files)\//.test(text))
    return undefined;
  const url = URL.parse(text, origin);
  return url && (UPLOAD.test(url.pathname) || FILE.test(url.pathname)) ? url : undefined;
}

const fileIn = (sent: InlineFiles | undefined, { text }: FoundString) =>
  sent?.files.find(({ url }) => url === text);

const inlineFiles = (found: FoundString[], sent: InlineFiles | undefined): InputFile[] =>
  found.flatMap((one) => {
    const file = fileIn(sent, one);
    if (!file) return [];
    const { key, name, mime_type, content, data_uri } = file;
    const size = content instanceof Uint8Array ? content.byteLength : content.size;
    const stored = { key, name, mime_type, size, ...(data_uri && { data_uri }) };
    return [{ at: one.at, stored }];
  });

async function ownFiles(
  services: Services,
  caller: Caller,
  found: FoundString[],
  origin: string,
): Promise<InputFile[]> {
  if (found.length === 0) return [];
  const places = found.map(({ at, text }) => {
    const url = new URL(text, origin);
    const file = fileOf(url);
    return {
      at,
      url,
      file,
      source: file?.source_id ?? UPLOAD.exec(url.pathname)?.[1]?.toLowerCase() ?? "",
    };
  });
  const ids = [...new Set(places.map(({ source }) => source))];
  const { db, settings } = services;
  const uploads = new Map(
    (await findOwnUploads(db, caller.user_id, ids)).map((row) => [row.id, row]),
  );
  const files = await Promise.all(
    places.map(async ({ at, url, file, source }): Promise<InputFile[]> => {
      const upload = uploads.get(source);
      const access = upload && accessToUpload(caller, upload);
      if (upload && access === "granted") return [{ at, stored: ofUpload(upload, at) }];
      const key = file && (await mayRead(services, caller, file, url)) && keyOf(file);
      const object = key ? await headFile(services.env.FILES, key) : null;
      if (key && object) {
        const facts = typeForContainer(await checkedFacts(services, object));
        return [{ at, stored: { key, ...facts, size: object.size } }];
      }
      // A URL on another host may be an ordinary web URL.
      if (url.origin !== origin && url.origin !== settings.filesOrigin) return [];
      if (access) await requireAccess(services, caller, access, `The upload '${source}'`);
      throw invalid(
        locationOf(at),
        `${url.pathname} was not found, or you do not have access to it`,
      );
    }),
  );
  const used = [...uploads.values()]
    .filter((upload) => accessToUpload(caller, upload) === "granted")
    .map(({ id }) => id);
  if (used.length > 0) {
    const until = Date.now() + settings.retentionSeconds * 1000;
    const cost = { rows: ROWS_OF.namedFile * used.length, bytes: 0 };
    const keeping = withinWriteLimit(services, caller.user_id, cost, (metered) =>
      keepUploads(metered.db, used, until),
    );
    const kept = new Set((await keeping).map(({ id }) => id));
    const deleted = places.find(({ source }) => used.includes(source) && !kept.has(source));
    if (deleted) throw invalid(locationOf(deleted.at), `${deleted.url.pathname} has been deleted`);
  }
  return files.flat();
}

function ofUpload(
  { id, key, name, mime_type, size, completed_at, is_utf8 }: UploadRow,
  at: FoundString["at"],
) {
  if (completed_at === null) {
    throw invalid(
      locationOf(at),
      `the upload '${id}' is not complete. POST its ETags to /v1/uploads/${id}/complete first`,
    );
  }
  const facts = { name: name ?? key.slice(key.indexOf("/") + 1), mime_type, is_utf8 };
  return { key, ...typeForContainer(facts), size };
}

/**
 * A container that reads the file by its address gets its type with the charset; a data URI stays as it was
 * sent.
 */
function typeForContainer({ is_utf8, mime_type, ...facts }: FileFacts) {
  return { ...facts, mime_type: is_utf8 && !facts.data_uri ? asUtf8(mime_type) : mime_type };
}

function fileOf({ pathname }: URL): OneFile | undefined {
  const [, source_id, file_name] = FILE.exec(pathname) ?? [];
  return oneFile.safeParse({ source_id, file_name }).data;
}

const keyOf = ({ source_id, file_name }: OneFile) => fileKey(source_id, file_name);

async function mayRead(services: Services, caller: Caller, file: OneFile, { searchParams }: URL) {
  const query = signedQuery.safeParse(Object.fromEntries(searchParams)).data;
  if (query && query.expires * 1000 > Date.now()) {
    if (await isValidSignature(services, ["file", keyOf(file)], query)) return true;
  }
  const access = await accessToSource(services, caller, file.source_id);
  if (access === "hidden") return false;
  await requireAccess(services, caller, access, `The file '${file.file_name}'`);
  return true;
}

const locationOf = (at: FoundString["at"]): Loc => ["body", "input", ...at.map(String)];

/**
 * Replaces expired URLs of the caller's own uploads, which are valid for a day.
 * @param input JSON text
 */
export async function refreshInputUrls(
  services: Services,
  caller: Caller,
  origin: string,
  input: string,
): Promise<string> {
  const expired = [...input.matchAll(SIGNED_URL)].filter(
    ([, at, , , expires]) =>
      (at === origin || at === services.settings.filesOrigin) &&
      Number(expires) * 1000 < Date.now(),
  );
  const renewed = await Promise.all(
    expired.slice(0, MAX_URLS).map(async ([old, , source_id = "", file_name = ""]) => {
      const file = { source_id: source_id.toLowerCase(), file_name };
      const found = await createFileUrl(services, caller, file, PAGE_URL_SECONDS, origin).catch(
        (error) => {
          // The file has been deleted: its URL stays as it was.
          if (error instanceof ProblemError) return undefined;
          throw error;
        },
      );
      return [old, found && JSON.stringify(found.url)] as const;
    }),
  );
  return renewed.reduce((text, [old, now]) => (now ? text.replaceAll(old, now) : text), input);
}

/**
 * Replaces uploads by signed URLs of their files, which a browser can open. For display only.
 * @param input JSON text
 */
export async function withUploadUrls(
  services: Services,
  caller: Caller,
  origin: string,
  input: string,
): Promise<string> {
  const named = [...input.matchAll(QUOTED_UPLOAD)].filter(([, at = origin]) => at === origin);
  const ids = [...new Set(named.map(([, , id = ""]) => id.toLowerCase()))].slice(0, MAX_URLS);
  if (ids.length === 0) return input;
  const uploads = await findOwnUploads(services.db, caller.user_id, ids);
  const expires = Date.now() + PAGE_URL_SECONDS * 1000;
  const addresses = new Map(
    await Promise.all(
      uploads
        .filter(({ completed_at }) => completed_at !== null)
        .filter((upload) => accessToUpload(caller, upload) === "granted")
        .map(async ({ id, key }): Promise<[string, string]> => {
          return [id, JSON.stringify(await signedFileUrl(services, origin, key, expires))];
        }),
    ),
  );
  return input.replaceAll(QUOTED_UPLOAD, (text, at: string | undefined, id: string) =>
    (at ?? origin) === origin ? (addresses.get(id.toLowerCase()) ?? text) : text,
  );
}
