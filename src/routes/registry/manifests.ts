/** /v2/{owner}/{name}/manifests, /tags and /referrers. */
import { type Context, Hono } from "hono";
import type { AppEnv } from "../../context.ts";
import { RegistryError } from "../../errors/registry.ts";
import { pusherOf } from "../../middleware/registry.ts";
import { MEDIA_TYPES, ociDigest, tag } from "../../protocol/oci.ts";
import { contentHeaders, isKnown } from "../../services/registry/blobs.ts";
import { MAX_PAGE, referrersOf, tagsOf } from "../../services/registry/lists.ts";
import {
  findManifestOf,
  putManifest,
  readManifest,
  removeManifest,
} from "../../services/registry/manifests.ts";
import {
  digestIn,
  firstPushedTo,
  isPushAsking,
  nameOf,
  OWN_REPOSITORY,
  pulledFrom,
  REPOSITORY,
  removedFrom,
} from "./repository.ts";

const MAX_TAGS = 50;

const MANIFEST = "/manifests/:reference";

export const registryManifestRoutes = new Hono<AppEnv>()
  .get(REPOSITORY + MANIFEST, read)
  .get(OWN_REPOSITORY + MANIFEST, read)
  .put(REPOSITORY + MANIFEST, put)
  .delete(REPOSITORY + MANIFEST, async (c) => {
    await removeManifest(c.var.services, await removedFrom(c), nameOf(c), referenceIn(c));
    return new Response(null, { status: 202 });
  })
  .get(`${REPOSITORY}/tags/list`, async (c) => {
    const repository = await pulledFrom(c);
    const { owner, name } = nameOf(c);
    const { last = "" } = c.req.query();
    const n = pageSize(c.req.query("n"));
    const { items, last: end } = await tagsOf(c.var.services, repository, last, n);
    return c.json({ name: `${owner}/${name}`, tags: items }, 200, linkOf(c, { n, last: end }));
  })
  .get(`${REPOSITORY}/referrers/:digest`, async (c) => {
    const digest = digestIn(c.req.param("digest"));
    const { artifactType, last = "" } = c.req.query();
    const repository = await pulledFrom(c).catch(unlessUnknown);
    const page = await referrersOf(c.var.services, repository, digest, artifactType, last);
    return c.body(JSON.stringify(page.index), 200, {
      "content-type": MEDIA_TYPES.ociIndex,
      ...(artifactType !== undefined && { "oci-filters-applied": "artifactType" }),
      ...linkOf(c, { artifactType, last: page.last }),
    });
  });

async function read(c: Context<AppEnv>): Promise<Response> {
  const { services } = c.var;
  const repository = await pulledFrom(c);
  const isPush = isPushAsking(c, repository);
  const manifest = await findManifestOf(services, repository, referenceIn(c), isPush);
  const { digest, media_type, size } = manifest;
  const headers = {
    ...contentHeaders(digest),
    // A tag may move to another manifest.
    "cache-control": "no-cache, no-transform",
    "content-type": media_type,
  };
  if (isKnown(c.req.raw.headers, digest)) return new Response(null, { status: 304, headers });
  const whole = { ...headers, "content-length": String(size) };
  if (c.req.method === "HEAD") return new Response(null, { headers: whole });
  return new Response(await readManifest(services, manifest), { headers: whole });
}

async function put(c: Context<AppEnv>): Promise<Response> {
  const { services } = c.var;
  pusherOf(c);
  const name = nameOf(c);
  const reference = referenceIn(c);
  const digest = reference.includes(":") ? reference : undefined;
  const further = (c.req.queries("tag") ?? []).map(tagIn);
  if (further.length > MAX_TAGS) {
    const message = `${further.length} tags at once are too many: at most ${MAX_TAGS}.`;
    throw new RegistryError(400, "MANIFEST_INVALID", message);
  }
  // The body comes first: while it arrives, the sender may lose the right to push.
  const bytes = new Uint8Array(await c.req.arrayBuffer());
  const repository = await firstPushedTo(c);
  const stored = await putManifest(services, repository, {
    bytes,
    mediaType: c.req.header("content-type")?.split(";", 1)[0]?.trim(),
    digest,
    tags: digest === undefined ? [reference, ...further] : further,
  });
  const headers = new Headers({
    location: `/v2/${name.owner}/${name.name}/manifests/${stored.digest}`,
    "docker-content-digest": stored.digest,
    ...(stored.subject !== undefined && { "oci-subject": stored.subject }),
  });
  for (const one of further) headers.append("oci-tag", one);
  return new Response(null, { status: 201, headers });
}

/**
 * Returns undefined for an unknown repository. A 404 would say that this registry has no referrers, and
 * clients would look for tags instead.
 */
function unlessUnknown(error: unknown): undefined {
  if (error instanceof RegistryError && error.code === "NAME_UNKNOWN") return undefined;
  throw error;
}

/** Returns a tag or a digest. @throws RegistryError */
function referenceIn(c: Context): string {
  const text = c.req.param("reference") ?? "";
  return text.includes(":") && !ociDigest.safeParse(text).success ? digestIn(text) : tagOr(text);
}

const tagOr = (text: string) => (text.includes(":") ? text : tagIn(text));

function tagIn(text: string): string {
  const parsed = tag.safeParse(text);
  if (parsed.success) return parsed.data;
  const why = parsed.error.issues[0]?.message ?? "";
  throw new RegistryError(
    400,
    "MANIFEST_INVALID",
    `'${text.slice(0, 150)}' cannot be a tag: ${why}.`,
  );
}

function pageSize(text: string | undefined): number {
  const n = text === undefined ? MAX_PAGE : Number(text);
  return Number.isInteger(n) && n >= 0 ? Math.min(n, MAX_PAGE) : MAX_PAGE;
}

/** Returns the address of the next page, if there is one. */
function linkOf(
  { req }: Context,
  { last, ...query }: { last: string | undefined; n?: number; artifactType?: string | undefined },
): Record<string, string> {
  if (last === undefined) return {};
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const next = new URLSearchParams([...given, ["last", last]]);
  return { link: `<${req.path}?${next}>; rel="next"` };
}
