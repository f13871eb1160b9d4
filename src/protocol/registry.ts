/** The error body of the registry (OCI distribution 1.1), and its codes. */
import { z } from "zod";

/**
 * The header with the id of the model that is meant, of whoever pushes to one that is there. Without it,
 * a push goes to whichever model has the name, and makes one if none has.
 */
export const MODEL_HEADER = "x-auspex-model";

const registryErrorCode = z.enum([
  "BLOB_UNKNOWN",
  "BLOB_UPLOAD_INVALID",
  "BLOB_UPLOAD_UNKNOWN",
  "DIGEST_INVALID",
  "MANIFEST_BLOB_UNKNOWN",
  "MANIFEST_INVALID",
  "MANIFEST_UNKNOWN",
  "NAME_INVALID",
  "NAME_UNKNOWN",
  "SIZE_INVALID",
  "UNAUTHORIZED",
  "DENIED",
  "UNSUPPORTED",
  "TOOMANYREQUESTS",
  // Codes of docker's own registry, for errors that no client causes. The specification has none.
  "UNAVAILABLE",
  "UNKNOWN",
]);
export type RegistryErrorCode = z.infer<typeof registryErrorCode>;

export const registryErrors = z.object({
  errors: z.array(z.object({ code: registryErrorCode, message: z.string() })),
});
export type RegistryErrors = z.infer<typeof registryErrors>;

/** The bearer token that a client gets for its credentials. */
export const registryToken = z.object({
  token: z.string(),
  access_token: z.string(),
  expires_in: z.int(),
  issued_at: z.iso.datetime(),
});
export type RegistryToken = z.infer<typeof registryToken>;

/** The bearer token of clients without credentials: they refuse an empty one. */
export const ANONYMOUS_TOKEN = "anonymous";

/**
 * The names under which runners get repositories of the deployment's own registry: they have the model's id,
 * which a rename does not change, and no host, since each runner has its own address of the deployment.
 */
const PREFIX = "auspex/models/";

const MODEL = new RegExp(`^${PREFIX}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`);

export const ownRepository = (modelId: string): string => `${PREFIX}${modelId}`;

/** Returns the model's id; undefined for a repository of another registry. */
export const modelOfRepository = (repository: string): string | undefined =>
  MODEL.exec(repository)?.[1];
