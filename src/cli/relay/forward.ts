/** Passes a request on to the deployment's registry as it is, and its answer back. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { z } from "zod";
import { MAX_MANIFEST_BYTES } from "../../protocol/oci.ts";
import type { RegistryClient } from "../registry/registry-client.ts";
import { RelayError } from "./error.ts";

const method = z.enum(["GET", "HEAD", "POST", "PUT", "DELETE"]);

/**
 * What is in a repository. At `/v2/token` a registry hands out what it is called with: the user's token, to any
 * program on this machine.
 */
const IN_REPOSITORY = /^\/v2\/[^/]+\/[^/]+\/(?:blobs|manifests|referrers|tags)\/./;

const SENT = ["accept", "content-type", "range", "if-none-match", "if-match"];
const ANSWERED =
  /^(?:content-(?:type|length|range)|docker-content-digest|etag|last-modified|link|range|accept-ranges|retry-after|oci-.*)$/;

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Readable | undefined;
}

export async function forward(
  client: RegistryClient,
  request: IncomingMessage,
  url: URL,
): Promise<Answer> {
  const known = method.safeParse(request.method);
  if (!known.success || !IN_REPOSITORY.test(url.pathname))
    throw new RelayError(405, "UNSUPPORTED", "The relay passes on requests to repositories only.");
  const hasBody = known.data === "PUT" || known.data === "POST";
  const response = await client.fetch(client.urlOf(`${url.pathname}${url.search}`), {
    method: known.data,
    headers: Object.fromEntries(
      SENT.flatMap((name) => {
        const value = request.headers[name];
        return typeof value === "string" ? [[name, value]] : [];
      }),
    ),
    ...(hasBody && { body: await bodyOf(request) }),
  });
  const { status, body } = response;
  // Its challenge is for the token, which clients do not have; they show the message of a 403.
  if (status === 401)
    throw new RelayError(
      403,
      "DENIED",
      "The token is not valid (any more): run auspex login again.",
    );
  const headers = Object.fromEntries([...response.headers].filter(([name]) => ANSWERED.test(name)));
  const location = response.headers.get("location");
  return {
    status,
    headers: { ...headers, ...(location && { location: localPart(client.urlOf(location)) }) },
    body: body ? Readable.fromWeb(body) : undefined,
  };
}

/** Of the deployment's own registry, here; anything else stays where it is. */
const localPart = (url: URL): string =>
  url.pathname.startsWith("/v2/") ? `${url.pathname}${url.search}` : url.href;

/** Manifests only: blobs go through uploads. */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_MANIFEST_BYTES)
      throw new RelayError(
        413,
        "SIZE_INVALID",
        `A manifest has at most ${MAX_MANIFEST_BYTES} bytes.`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
