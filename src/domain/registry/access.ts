/** Access to pull from a repository. Only its owner may push. */
import type { Visibility } from "../../protocol/model.ts";
import { type Access, accessToModel, type Principal } from "../accounts/access.ts";

interface Repository {
  id: string;
  owner_id: string;
  visibility: Visibility;
}

/**
 * Returns the access. Public images are for everybody; restricted and private ones for their owner, and for a
 * runner that holds a job of the model.
 * @param granted the model that a runner's grant opens
 */
export function accessToPull(
  principal: Principal | undefined,
  granted: string | undefined,
  model: Repository,
): Access {
  if (granted !== undefined) return granted === model.id ? "granted" : "hidden";
  if (model.visibility === "public") return "granted";
  if (model.owner_id === principal?.user_id) return accessToModel(principal, model, "change");
  return model.visibility === "restricted" && principal ? "owner only" : "hidden";
}
