/** Addresses of the OpenAI and Anthropic conventions, as clients call them, and the base URL of each. */
import { getPath } from "hono/utils/url";
import type { Convention } from "../domain/openai/call.ts";

const OPENAI =
  "audio|chat/completions|completions|conversations|embeddings|images|moderations|rerank|responses";

/** Prefixes that clients call, and the prefix of the routes that serve them. */
const PREFIXES: [RegExp, string][] = [
  [/^\/openai\/v1(?=\/|$)/, "/v1/vendora"],
  // Anthropic's own client adds `/v1` to its base URL; others do not.
  [/^(?:\/anthropic|\/v1\/vendorb)(?:\/v1)?(?=\/|$)/, "/v1/vendorb"],
  [new RegExp(`^/v1(?=/(?:${OPENAI})(?:/|$))`), "/v1/vendora"],
  [/^\/v1(?=\/messages(?:\/|$))/, "/v1/vendorb"],
  // Version 1 of Python's client adds `/v1` to its base URL; the others have it there.
  [/^\/replicate(?:\/v1)*(?=\/|$)/, "/replicate/v1"],
];

/** The `getPath` of the API's router. @returns the path of the route that serves the request */
export function routePath(request: Request): string {
  const path = getPath(request);
  const rewrite = PREFIXES.find(([prefix]) => prefix.test(path));
  return rewrite ? path.replace(...rewrite) : path;
}

const NEAR_OPENAI = new RegExp(`^/(?:v1/)*(?:openai|vendora|${OPENAI})(?:/|$)`);
const NEAR_ANTHROPIC = /^\/(?:v1\/)*(?:anthropic|vendorb|messages)(?:\/|$)/;

/** Returns the convention for which a request is meant, also if its base URL is slightly wrong. */
export function conventionMeant(request: Request): Convention | undefined {
  const path = getPath(request).replace(/\/{2,}/g, "/");
  if (NEAR_OPENAI.test(path)) return "vendora";
  return NEAR_ANTHROPIC.test(path) ? "vendorb" : undefined;
}

/** The base URL of a client, below the origin of the deployment. */
export const BASE_PATHS: Record<Convention, string> = {
  vendora: "/openai/v1",
  vendorb: "/anthropic",
};
