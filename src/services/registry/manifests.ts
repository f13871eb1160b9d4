/**
 * Manifests, indexes and their tags: stored as they were sent, once all blobs and manifests that they name
 * exist.
 */
import { ROWS_OF } from "../../domain/accounts/write-rows.ts";
import {
  attachmentOf,
  namedBy,
  namesManifest,
  parseDocument,
} from "../../domain/registry/named.ts";
import { invalidManifest, RegistryError } from "../../errors/registry.ts";
import { hex } from "../../lib/hex.ts";
import { type Descriptor, kindOf, MAX_MANIFEST_BYTES, ociDigest } from "../../protocol/oci.ts";
import { type Present, touchLinks } from "../../storage/registry/blobs.ts";
import {
  deleteManifest,
  deleteTag,
  type FoundManifest,
  findManifest,
  insertManifest,
  MAX_NAMERS,
  MAX_TAGS,
  type Need,
  touchManifests,
} from "../../storage/registry/manifests.ts";
import { getObject, headObject, objectKey, putObject } from "../../storage/registry/objects.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { chargeRows } from "../access/write-limit.ts";
import { auditEntry } from "../audit/record.ts";
import type { Services } from "../services.ts";
import { replaceLost, requireImageQuota } from "./blobs.ts";
import type { Repository, RepositoryName } from "./repositories.ts";

/** How many versions the error names at most. */
const NAMED_VERSIONS = 5;

/**
 * The time of two sweeps: an image that predictions needed is released by the first sweep after their end.
 */
const SWEPT_MS = 2 * 60_000;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** The annotations of a manifest that is attached to another: lists of attached manifests repeat them. */
const ANNOTATIONS_BYTES = 32 * 1024;

/** A manifest that a client puts. */
export interface NewManifest {
  bytes: Uint8Array<ArrayBuffer>;
  /** The media type of the request; undefined: the document says it. */
  mediaType: string | undefined;
  /** The digest that it must have; undefined: any. */
  digest: string | undefined;
  tags: string[];
}

export interface StoredManifest {
  digest: string;
  /** The digest of the manifest that this one is attached to. */
  subject: string | undefined;
}

/** @throws RegistryError MANIFEST_INVALID, MANIFEST_BLOB_UNKNOWN, DIGEST_INVALID, SIZE_INVALID, DENIED */
export async function putManifest(
  services: Services,
  { id: model_id, owner_id: user_id }: Repository,
  { bytes, mediaType, digest: announced, tags }: NewManifest,
): Promise<StoredManifest> {
  const { db } = services;
  if (bytes.byteLength > MAX_MANIFEST_BYTES) throw tooLarge();
  const digest = await digestOf(bytes, announced);
  if (announced !== undefined && digest !== announced) throw otherDigest(announced, digest);
  const { type, manifests, blobs, subject, artifactType, shown } = parse(bytes, mediaType);
  if (shown && JSON.stringify(shown).length > ANNOTATIONS_BYTES) {
    throw invalidManifest(`its annotations can have at most ${ANNOTATIONS_BYTES} characters`);
  }
  const names = [...new Set([...manifests.keys(), ...blobs.keys()])];
  await chargeRows(services, ROWS_OF.manifestEntry * names.length + ROWS_OF.tag * tags.length);
  await requireImageQuota(services, user_id, bytes.byteLength);
  const now = Date.now();
  if (manifests.size > 0)
    requireSame(manifests, await touchManifests(db, model_id, [...manifests.keys()], now));
  if (blobs.size > 0) requireSame(blobs, await touchLinks(db, model_id, [...blobs.keys()], now));
  const row = {
    model_id,
    digest,
    user_id,
    media_type: type,
    size: bytes.byteLength,
    subject: subject ?? null,
    artifact_type: artifactType ?? null,
    annotations: shown ?? null,
    named: names.length,
    used_at: now,
    pushed_at: now,
  };
  const blob = { digest, key: await storeBytes(services, digest, bytes), size: bytes.byteLength };
  const quota = quotaOf(services, user_id);
  await withinQuota(services, insertManifest(db, row, { blob, names, tags }, quota));
  return { digest, subject };
}

/** @returns the key of the bytes, which becomes garbage if they are stored already */
async function storeBytes(services: Services, digest: string, bytes: Uint8Array): Promise<string> {
  const key = objectKey();
  await putObject(services.env.IMAGES, key, bytes, digest);
  await replaceLost(services, digest, key);
  return key;
}

/**
 * Parses a manifest. The result has only what is needed while the manifest is stored: a document takes ten
 * times its bytes, and many may be stored at once.
 * @throws RegistryError MANIFEST_INVALID
 */
function parse(bytes: Uint8Array, mediaType: string | undefined) {
  // Checked before parsing: the values of a document that came as a form were not counted.
  if (mediaType !== undefined && kindOf(mediaType) === undefined) throw unknownType(mediaType);
  if (BYTE_ORDER_MARK.every((byte, n) => bytes[n] === byte))
    throw invalidManifest("it starts with a byte order mark");
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    throw invalidManifest("it is not JSON");
  }
  const own =
    typeof json === "object" && json !== null && "mediaType" in json
      ? String(json.mediaType)
      : undefined;
  const type = mediaType ?? own ?? "";
  const document = parseDocument(type, json);
  if (document === undefined) throw unknownType(type);
  if (typeof document === "string") throw invalidManifest(document);
  if (own !== undefined && own !== type) {
    throw invalidManifest(
      `its mediaType is '${own.slice(0, 100)}', but the Content-Type is '${type.slice(0, 100)}'`,
    );
  }
  const isManifest = (one: Descriptor) => namesManifest(document, one);
  const named = namedBy(document);
  const manifests = sizesOf(named.filter(isManifest));
  const blobs = sizesOf(named.filter((one) => !isManifest(one)));
  const { annotations, ...attachment } = attachmentOf(document);
  const shown = attachment.subject === undefined ? undefined : annotations;
  return { type, manifests, blobs, ...attachment, shown };
}

/** Returns the sizes of descriptors by digest. @throws RegistryError MANIFEST_INVALID */
function sizesOf(named: Descriptor[]): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const { digest, size } of named) {
    const other = sizes.get(digest);
    if (other !== undefined && other !== size)
      throw invalidManifest(`it lists ${digest} with both ${other} and ${size} bytes`);
    sizes.set(digest, size);
  }
  return sizes;
}

/** @throws RegistryError MANIFEST_BLOB_UNKNOWN, MANIFEST_INVALID */
function requireSame(named: Map<string, number>, present: Present[]): void {
  const sizes = new Map(present.map(({ digest, size }) => [digest, size]));
  const missing = [...named.keys()].filter((digest) => !sizes.has(digest));
  if (missing.length > 0) throw unknownParts(missing);
  for (const [digest, size] of named) {
    const actual = sizes.get(digest);
    if (actual !== size)
      throw invalidManifest(`it lists ${digest} with ${size} bytes, but the content has ${actual}`);
  }
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>, announced = ""): Promise<string> {
  const [name, algorithm] = announced.startsWith("sha512:")
    ? ["sha512", "SHA-512"]
    : ["sha256", "SHA-256"];
  return `${name}:${hex(await crypto.subtle.digest(algorithm ?? "SHA-256", bytes))}`;
}

/**
 * @param reference a tag or a digest
 * @param isPush whether the caller is a push, which does not send a manifest that is found
 * @throws RegistryError MANIFEST_UNKNOWN
 */
export async function findManifestOf(
  { db, env }: Services,
  { id }: Repository,
  reference: string,
  isPush: boolean,
): Promise<FoundManifest> {
  const found = await findManifest(db, id, reference);
  if (!found) throw unknownManifest(reference);
  if (isPush && !(await headObject(env.IMAGES, found.key))) throw unknownManifest(reference);
  return found;
}

/** @throws RegistryError MANIFEST_UNKNOWN */
export async function readManifest(
  { env }: Services,
  { digest, key }: FoundManifest,
): Promise<ReadableStream> {
  const object = await getObject(env.IMAGES, key);
  if (object) return object.body;
  throw unknownManifest(digest);
}

/**
 * Removes a tag, or a manifest with all of its tags.
 * @throws RegistryError MANIFEST_UNKNOWN; DENIED while a version needs it
 */
export async function removeManifest(
  { db }: Services,
  { id, owner_id }: Repository,
  { owner, name }: RepositoryName,
  reference: string,
): Promise<void> {
  const isDigest = ociDigest.safeParse(reference).success;
  const model = `${owner}/${name}`;
  const entry = auditEntry({
    action: "image.deleted",
    account_id: owner_id,
    targets: [
      { type: "image", id: reference, name: `${model}${isDigest ? "@" : ":"}${reference}` },
      { type: "model", id, name: model },
    ],
  });
  if (!isDigest) {
    if (await deleteTag(db, id, reference, entry)) return;
    throw unknownManifest(reference);
  }
  const outcome = await deleteManifest(db, id, reference, NAMED_VERSIONS + 1, entry);
  if (outcome === "missing") throw unknownManifest(reference);
  if (outcome === "crowded") throw namedTooOften(reference);
  if (outcome !== "removed") throw neededError(reference, outcome);
}

const unknownType = (type: string) =>
  invalidManifest(
    `'${type.slice(0, 100)}' is not supported. Use an OCI or Docker (schema 2) image manifest or index`,
  );

const tooLarge = () =>
  new RegistryError(
    413,
    "SIZE_INVALID",
    `A manifest can have at most ${MAX_MANIFEST_BYTES / 1024 / 1024} MiB.`,
  );

const otherDigest = (announced: string, digest: string) =>
  new RegistryError(
    400,
    "DIGEST_INVALID",
    `Digest mismatch: the manifest is ${digest}, not ${announced}.`,
  );

const unknownManifest = (reference: string) =>
  new RegistryError(
    404,
    "MANIFEST_UNKNOWN",
    `Image ${reference.slice(0, 150)} not found in this repository. Push it first.`,
  );

function unknownParts(missing: string[]): RegistryError {
  const named = missing.slice(0, 5).join(", ");
  const more = missing.length > 5 ? ` and ${missing.length - 5} more` : "";
  return new RegistryError(
    404,
    "MANIFEST_BLOB_UNKNOWN",
    `The manifest references content that was not pushed to this repository: ${named}${more}. Push it first.`,
  );
}

/** @param need has one version more than are named, if there are as many */
function neededError(reference: string, { versions, until }: Need): RegistryError {
  if (versions.length === 0 && until === 0)
    return denied(
      `A version uses ${reference} through nested indexes. Delete the version first. You can delete the image four days later.`,
    );
  if (versions.length === 0)
    return denied(
      `Predictions of a deleted version may still be using ${reference}. You can delete it after ${minuteOf(until + SWEPT_MS)} UTC.`,
    );
  const noun = versions.length === 1 ? "version" : "versions";
  const named = versions.slice(0, NAMED_VERSIONS).join(", ");
  const more = versions.length > NAMED_VERSIONS ? " and others" : "";
  return denied(
    `${reference} is used by ${noun} ${named}${more} of this model. Delete the ${noun} first. You can delete the image four days later.`,
  );
}

const namedTooOften = (reference: string): RegistryError =>
  denied(
    `${reference} has more than ${MAX_TAGS} tags, or is referenced by more than ${MAX_NAMERS} indexes. Delete those first.`,
  );

const denied = (message: string) => new RegistryError(409, "DENIED", message);

const minuteOf = (time: number) => new Date(time).toISOString().slice(0, 16).replace("T", " ");
