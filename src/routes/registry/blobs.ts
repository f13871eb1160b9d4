/** /v2/{owner}/{name}/blobs: reading and removing blobs. */
import { type Context, Hono } from "hono";
import type { AppEnv } from "../../context.ts";
import { contentHeaders, findBlobOf, readBlob, removeBlob } from "../../services/registry/blobs.ts";
import {
  digestIn,
  isPushAsking,
  OWN_REPOSITORY,
  pulledFrom,
  pushedTo,
  REPOSITORY,
} from "./repository.ts";

const BLOB = "/blobs/:digest";

export const registryBlobRoutes = new Hono<AppEnv>()
  .get(REPOSITORY + BLOB, read)
  .get(OWN_REPOSITORY + BLOB, read)
  .delete(REPOSITORY + BLOB, async (c) => {
    await removeBlob(c.var.services, await pushedTo(c), digestIn(c.req.param("digest")));
    return new Response(null, { status: 202 });
  });

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
