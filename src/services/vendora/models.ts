/** The models that can be called by the vendora convention, as it lists them. */

import { COMPATIBILITY } from "../../domain/vendora/call.ts";
import { ProblemError } from "../../errors.ts";
import { VendoraProblem } from "../../errors-vendora.ts";
import type { VendoraModel } from "../../protocol/vendora/model.ts";
import { listCallable } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { Caller } from "../accounts/caller.ts";
import { resolveAnswering } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { MODELS_HINT, unixSeconds } from "./calls.ts";

/** The list has no pages, and nobody chooses from more. */
const MAX_LISTED = 1_000;

/** Only models that the caller's token may run: clients offer the list for selection. */
export async function listVendoraModels({ db }: Services, { user_id, models }: Caller) {
  const rows = await listCallable(db, user_id, models, MAX_LISTED);
  return { object: "list" as const, data: rows.map(present) };
}

/**
 * @throws VendoraProblem model_not_found, also for a model without vendora compatibility
 * @throws ProblemError forbidden for a model outside the token's scope
 */
export async function readVendoraModel(
  services: Services,
  caller: Caller,
  reference: string,
): Promise<VendoraModel> {
  const isCallable = ({ compatibilities }: VersionRow) =>
    Object.values(COMPATIBILITY).some((flag) => compatibilities[flag]);
  const target = await resolveAnswering(services, caller, reference, isCallable).catch(
    (error: unknown) => {
      if (error instanceof ProblemError && error.code === "not_found") return undefined;
      throw error;
    },
  );
  if (target && isCallable(target.version)) {
    const { owner, name } = target.model;
    return { ...present({ owner, name, created_at: target.version.created_at }), id: reference };
  }
  const message = `The model '${reference.slice(0, 200)}' does not exist, is not visible to you, or has no vendora compatibility. ${MODELS_HINT}`;
  throw new VendoraProblem(404, { message, param: "model", code: "model_not_found" });
}

const present = ({
  owner,
  name,
  created_at,
}: {
  owner: string;
  name: string;
  created_at: number;
}) => ({
  id: `${owner}/${name}`,
  object: "model" as const,
  created: unixSeconds(created_at),
  owned_by: owner,
});
