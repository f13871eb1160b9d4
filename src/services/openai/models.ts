/** The list of models that can be called by the OpenAI convention. */

import type { OpenAiModel } from "../../protocol/openai/error.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { type CallableModel, listCallableModels, readCallableModel } from "./callable-models.ts";
import { unixSeconds } from "./calls.ts";

/** Returns the list, which has no pages. */
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
