/** Faults of a registry's answer: errors have OCI's format, and each status has its codes. */
import { type RegistryErrorCode, registryErrors } from "../../../../src/protocol/registry.ts";

const CODES: Record<number, RegistryErrorCode[]> = {
  400: [
    "BLOB_UPLOAD_INVALID",
    "DIGEST_INVALID",
    "MANIFEST_INVALID",
    "NAME_INVALID",
    "SIZE_INVALID",
  ],
  401: ["UNAUTHORIZED"],
  403: ["DENIED"],
  404: [
    "BLOB_UNKNOWN",
    "BLOB_UPLOAD_UNKNOWN",
    "MANIFEST_BLOB_UNKNOWN",
    "MANIFEST_UNKNOWN",
    "NAME_UNKNOWN",
  ],
  405: ["UNSUPPORTED"],
  408: ["BLOB_UPLOAD_INVALID"],
  409: ["DENIED"],
  413: ["SIZE_INVALID"],
  416: ["BLOB_UPLOAD_INVALID", "SIZE_INVALID"],
  429: ["TOOMANYREQUESTS"],
};

interface Received {
  status: number;
  headers: Headers;
  text: string;
}

export function* registryFaults({ status, headers, text }: Received): Generator<string> {
  if (status < 400) return;
  const codes = CODES[status];
  if (!codes) return yield `${status} is none that a registry answers`;
  // The answer to a HEAD has no body.
  if (text === "") return;
  if (headers.get("content-type") !== "application/json") yield "an error that is not JSON";
  const { data } = registryErrors.safeParse(jsonIn(text));
  const [error, ...others] = data?.errors ?? [];
  if (!error || others.length > 0) yield "not one error of OCI's format";
  else if (!codes.includes(error.code)) yield `${error.code} with ${status}`;
  else if (!/[.]$/.test(error.message)) yield "an error that is not a sentence";
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
