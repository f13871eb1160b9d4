/** The repository that a path names. */
import type { Context } from "hono";
import type { AppEnv } from "../../context.ts";
import { accessToModel } from "../../domain/accounts/access.ts";
import { RegistryError } from "../../errors/registry.ts";
import { pullerOf, pusherOf } from "../../middleware/registry.ts";
import { ociDigest } from "../../protocol/oci.ts";
import { MODEL_HEADER } from "../../protocol/registry.ts";
import {
  openToFirstPush,
  openToPull,
  openToPush,
  type Repository,
} from "../../services/registry/repositories.ts";

/** The path of a repository, which is a model. */
export const REPOSITORY = "/v2/:owner/:name";

/** The path of a repository for runners, who know models by their ids (protocol/registry.ts). */
export const OWN_REPOSITORY = "/v2/auspex/models/:model_id";

export const nameOf = (c: Context) => ({
  owner: c.req.param("owner") ?? "",
  name: c.req.param("name") ?? "",
});

/** @throws RegistryError, ProblemError */
export async function pulledFrom(c: Context<AppEnv>): Promise<Repository> {
  const modelId = c.req.param("model_id");
  const puller = pullerOf(c);
  if (modelId === undefined) return openToPull(c.var.services, puller, nameOf(c));
  // The grant alone decides: the model may have been deleted since its job was accepted.
  if (puller.granted === modelId)
    return { id: modelId, owner_id: "", visibility: "private", level: null };
  throw new RegistryError(403, "DENIED", "This grant is for another repository, or has expired.");
}

/** Returns the repository of a push, which must exist. @throws RegistryError, ProblemError */
export const pushedTo = (c: Context<AppEnv>): Promise<Repository> =>
  openToPush(c.var.services, pusherOf(c), pushedNameOf(c));

/** Returns the repository of an image that its owner removes. @throws RegistryError, ProblemError */
export const removedFrom = (c: Context<AppEnv>): Promise<Repository> =>
  openToPush(c.var.services, pusherOf(c), pushedNameOf(c), "change");

/** Returns the repository of a push that may make it. @throws RegistryError, ProblemError */
export const firstPushedTo = (c: Context<AppEnv>): Promise<Repository> =>
  openToFirstPush(c.var.services, pusherOf(c), pushedNameOf(c));

const pushedNameOf = (c: Context) => ({ ...nameOf(c), model: c.req.header(MODEL_HEADER) });

/** Whether this is the HEAD of somebody who may push: the push does not send what it finds. */
export function isPushAsking(c: Context<AppEnv>, repository: Repository): boolean {
  const { caller } = c.var;
  if (c.req.method !== "HEAD" || !caller?.scopes.includes("write")) return false;
  return accessToModel(caller, repository, "write") === "granted";
}

/** @throws RegistryError DIGEST_INVALID */
export function digestIn(text: string | undefined): string {
  const parsed = ociDigest.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new RegistryError(
    400,
    "DIGEST_INVALID",
    `'${(text ?? "").slice(0, 150)}' is not a digest: sha256: and 64 hex digits, or sha512: and 128.`,
  );
}
