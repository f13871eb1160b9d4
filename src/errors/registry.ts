/** Errors in the format of OCI's registries, which docker and its relatives show word for word. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { RegistryErrorCode, RegistryErrors } from "../protocol/registry.ts";

export class RegistryError extends Error {
  readonly status: ContentfulStatusCode;
  readonly code: RegistryErrorCode;
  readonly headers: Record<string, string>;

  /** @param message shown to the caller: what is wrong and what to do about it */
  constructor(
    status: ContentfulStatusCode,
    code: RegistryErrorCode,
    message: string,
    headers: Record<string, string> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The codes of problems that every part of the API has, by their status. */
const CODES: Record<number, RegistryErrorCode> = {
  400: "BLOB_UPLOAD_INVALID",
  401: "UNAUTHORIZED",
  403: "DENIED",
  404: "NAME_UNKNOWN",
  405: "UNSUPPORTED",
  408: "BLOB_UPLOAD_INVALID",
  409: "DENIED",
  413: "SIZE_INVALID",
  415: "MANIFEST_INVALID",
  422: "NAME_INVALID",
  429: "TOOMANYREQUESTS",
  503: "UNAVAILABLE",
};

/** Registries are always at this path, whatever their host has besides. */
export const isRegistryRequest = ({ req }: Context) => /^\/v2(?:\/|$)/.test(req.path);

export const registryProblem = (status: ContentfulStatusCode, message: string) =>
  new RegistryError(status, CODES[status] ?? "UNKNOWN", message);

/** @param why without a full stop */
export const invalidManifest = (why: string) =>
  new RegistryError(400, "MANIFEST_INVALID", `Invalid manifest: ${why}.`);

export function registryResponse({ status, code, message, headers }: RegistryError): Response {
  const body: RegistryErrors = { errors: [{ code, message }] };
  return Response.json(body, { status, headers });
}

/**
 * Names where a client gets a token, and for what: docker asks for nothing else without it.
 * @returns the header WWW-Authenticate
 */
export function bearerChallenge({ req }: Context): string {
  const { origin, host } = new URL(req.url);
  const [, name] = /^\/v2\/([\w./-]+)\/(?:blobs|manifests|tags|referrers)\//.exec(req.path) ?? [];
  const actions = ["GET", "HEAD"].includes(req.method) ? "pull" : "pull,push";
  const scope = name === undefined ? "" : `,scope="repository:${name}:${actions}"`;
  return `Bearer realm="${origin}/v2/token",service="${host}"${scope}`;
}
