import { CONVENTION, type Convention } from "../../domain/openai/call.ts";
import { ProblemError } from "../../errors/errors.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import type { Compatibilities } from "../../protocol/model.ts";
import type { OpenAiModel } from "../../protocol/openai/error.ts";
import { listCallable } from "../../storage/models/targets.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import { resolveAnswering } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { modelsHint, unixSeconds } from "./calls.ts";

/** The most models that are listed: nobody chooses from more. */
const MAX_LISTED = 1_000;

export interface CallableModel {
  owner: string;
  name: string;
  /** When its version was published, Unix ms. */
  created_at: number;
  compatibilities: Compatibilities;
}

/** Lists only models that the caller's token may run: clients offer the list for selection. */
export const listCallableModels = (
  { db }: Services,
  { user_id, models }: Caller,
  convention: Convention,
): Promise<CallableModel[]> =>
  listCallable(db, user_id, models, CONVENTION[convention], MAX_LISTED);

/**
 * @throws OpenAiProblem model_not_found, also for a model that the convention cannot call
 * @throws ProblemError forbidden for a model outside the token's scope
 */
export async function readCallableModel(
  services: Services,
  caller: Caller,
  reference: string,
  convention: Convention,
): Promise<CallableModel> {
  const isCallable = ({ compatibilities }: VersionRow) =>
    CONVENTION[convention].some((flag) => compatibilities[flag]);
  const target = await resolveAnswering(services, caller, reference, isCallable).catch(
    (error: unknown) => {
      if (error instanceof ProblemError && error.code === "not_found") return undefined;
      throw error;
    },
  );
  if (target && isCallable(target.version)) {
    const { owner, name } = target.model;
    const { created_at, compatibilities } = target.version;
    return { owner, name, created_at, compatibilities };
  }
  const message = `The model '${reference.slice(0, 200)}' does not exist, is not visible to you, or is not compatible with this API. ${modelsHint(convention)}`;
  throw new OpenAiProblem(404, { message, param: "model", code: "model_not_found" });
}

export async function listOpenAiModels(services: Services, caller: Caller) {
  const models = await listCallableModels(services, caller, "vendora");
  return { object: "list" as const, data: models.map(present) };
}

/** @throws as readCallableModel */
export async function readOpenAiModel(
  services: Services,
  caller: Caller,
  reference: string,
): Promise<OpenAiModel> {
  const model = await readCallableModel(services, caller, reference, "vendora");
  return { ...present(model), id: reference };
}

const present = ({ owner, name, created_at, compatibilities }: CallableModel): OpenAiModel => ({
  id: `${owner}/${name}`,
  object: "model",
  created: unixSeconds(created_at),
  owned_by: owner,
  compatibilities,
});
