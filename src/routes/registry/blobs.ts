/** /v2/{owner}/{name}/blobs: reading, removing and sending blobs. */
import { type Context, Hono } from "hono";
import type { AppEnv } from "../../context.ts";
import {
  MAX_CHUNK_BYTES,
  MIN_CHUNK_BYTES,
  parseContentRange,
} from "../../domain/registry/chunk.ts";
import { RegistryError } from "../../errors/registry.ts";
import { pusherOf, requireValidCredential } from "../../middleware/registry.ts";
import {
  contentHeaders,
  findBlobOf,
  hasBlob,
  mountBlob,
  readBlob,
  removeBlob,
} from "../../services/registry/blobs.ts";
import { finishUpload, putWholeBlob } from "../../services/registry/finish-upload.ts";
import type { RepositoryName } from "../../services/registry/repositories.ts";
import { offsetOf } from "../../services/registry/upload-writer.ts";
import {
  type Arriving,
  appendTo,
  beginUpload,
  cancelUpload,
  getUpload,
  rangeOf,
  type Upload,
} from "../../services/registry/uploads.ts";
import {
  digestIn,
  firstPushedTo,
  isPushAsking,
  nameOf,
  OWN_REPOSITORY,
  pulledFrom,
  pushedTo,
  REPOSITORY,
  removedFrom,
} from "./repository.ts";

const BLOB = "/blobs/:digest";

export const registryBlobRoutes = new Hono<AppEnv>()
  .get(REPOSITORY + BLOB, read)
  .get(OWN_REPOSITORY + BLOB, read)
  .delete(REPOSITORY + BLOB, async (c) => {
    await removeBlob(c.var.services, await removedFrom(c), digestIn(c.req.param("digest")));
    return new Response(null, { status: 202 });
  });

const UPLOADS = `${REPOSITORY}/blobs/uploads`;
const UPLOAD = `${UPLOADS}/:upload_id`;

export const registryUploadRoutes = new Hono<AppEnv>()
  .post(UPLOADS, begin)
  .post(`${UPLOADS}/`, begin)
  .get(UPLOAD, async (c) => {
    const upload = await getUpload(c.var.services, await pushedTo(c), uploadId(c));
    // A client continues after the last byte: `0-0` would mean one byte, and without the header some clients
    // give up.
    const range = `0-${offsetOf(upload) - 1}`;
    return new Response(null, { status: 204, headers: { ...headersOf(c, upload), range } });
  })
  .patch(UPLOAD, async (c) => {
    const { services } = c.var;
    const upload = await getUpload(services, await pushedTo(c), uploadId(c));
    const appended = await appendTo(services, upload, arriving(c));
    return new Response(null, { status: 202, headers: headersOf(c, appended) });
  })
  .put(UPLOAD, finish)
  .delete(UPLOAD, async (c) => {
    await cancelUpload(c.var.services, await pushedTo(c), uploadId(c));
    return new Response(null, { status: 204 });
  });

async function begin(c: Context<AppEnv>): Promise<Response> {
  const { services } = c.var;
  const caller = pusherOf(c);
  const repository = await firstPushedTo(c);
  const { mount, from, digest } = c.req.query();
  if (mount !== undefined) {
    const mounted = digestIn(mount);
    if (await mountBlob(services, caller, repository, mounted, sourceOf(from)))
      return created(c, mounted);
  }
  if (digest !== undefined && mount === undefined) {
    const announced = digestIn(digest);
    if (await putWholeBlob(services, repository, announced, arriving(c)))
      return created(c, announced);
  }
  const upload = await beginUpload(services, repository);
  return new Response(null, {
    status: 202,
    headers: { ...headersOf(c, upload), "oci-chunk-min-length": String(MIN_CHUNK_BYTES) },
  });
}

async function finish(c: Context<AppEnv>): Promise<Response> {
  const { services } = c.var;
  const repository = await pushedTo(c);
  const digest = digestIn(c.req.query("digest"));
  const last = arriving(c);
  const upload = await getUpload(services, repository, uploadId(c)).catch(async (error) => {
    // The upload was finished by a request whose response got lost.
    if (await hasBlob(services, repository, digest)) return undefined;
    throw error;
  });
  if (!upload) return created(c, digest);
  const isWhole = offsetOf(upload) === 0 && last.first === undefined && (last.length ?? 0) > 0;
  if (isWhole && (await putWholeBlob(services, repository, digest, last))) {
    await cancelUpload(services, repository, upload.id);
  } else {
    const appended = await appendTo(services, upload, last);
    if (offsetOf(appended) > offsetOf(upload)) await last.check();
    await finishUpload(services, appended, digest);
  }
  return created(c, digest);
}

/** @throws RegistryError SIZE_INVALID, BLOB_UPLOAD_INVALID */
function arriving(c: Context<AppEnv>): Arriving {
  const length = c.req.header("content-length");
  const range = c.req.header("content-range");
  const chunk = range === undefined ? undefined : parseContentRange(range);
  if (range !== undefined && !chunk) {
    throw new RegistryError(
      416,
      "BLOB_UPLOAD_INVALID",
      "Invalid Content-Range. Use '{first}-{last}'.",
    );
  }
  const sent = length === undefined ? undefined : Number(length);
  // A PUT without a body may name its position: regctl's is `5-5` after five bytes.
  if (chunk && sent && sent !== chunk.length) {
    const message = `Content-Range covers ${chunk.length} bytes, but Content-Length is ${sent}.`;
    throw new RegistryError(400, "SIZE_INVALID", message);
  }
  return {
    body: c.req.raw.body,
    length: sent ?? chunk?.length,
    first: chunk?.first,
    // The sender may have lost the right to push while the bytes arrived.
    check: async () => {
      await requireValidCredential(c);
      await pushedTo(c);
    },
  };
}

/** The location is relative, so that a relay in front of the Worker, or another host name, keeps working. */
const headersOf = (c: Context, upload: Upload) => ({
  location: `${pathOf(c)}/blobs/uploads/${upload.id}`,
  "docker-upload-uuid": upload.id,
  "oci-chunk-max-length": String(MAX_CHUNK_BYTES),
  ...rangeOf(upload),
});

const created = (c: Context, digest: string) =>
  new Response(null, {
    status: 201,
    headers: { location: `${pathOf(c)}/blobs/${digest}`, "docker-content-digest": digest },
  });

function pathOf(c: Context): string {
  const { owner, name } = nameOf(c);
  return `/v2/${owner}/${name}`;
}

const uploadId = (c: Context): string => c.req.param("upload_id") ?? "";

/** Returns `owner/name`; undefined if none is named. */
function sourceOf(from: string | undefined): RepositoryName | undefined {
  if (from === undefined) return undefined;
  const [owner = "", name = ""] = from.split("/", 2);
  return { owner, name };
}

async function read(c: Context<AppEnv>): Promise<Response> {
  const { services } = c.var;
  const repository = await pulledFrom(c);
  const digest = digestIn(c.req.param("digest"));
  const blob = await findBlobOf(services, repository, digest, isPushAsking(c, repository));
  if (c.req.method !== "HEAD") return readBlob(services, blob, c.req.raw.headers);
  return new Response(null, {
    headers: {
      ...contentHeaders(digest),
      "content-type": "application/octet-stream",
      "content-length": String(blob.size),
      "accept-ranges": "bytes",
    },
  });
}
