/** The list of models that can be called by the Anthropic convention. */

import { invalidParameter } from "../../errors/openai.ts";
import type {
  AnthropicModel,
  AnthropicModels,
  AnthropicModelsQuery,
} from "../../protocol/anthropic.ts";
import type { Caller } from "../access/access.ts";
import {
  type CallableModel,
  listCallableModels,
  readCallableModel,
} from "../openai/callable-models.ts";
import type { Services } from "../services.ts";

/** @throws OpenAiProblem when the model to list from does not exist */
export async function listAnthropicModels(
  services: Services,
  caller: Caller,
  { limit, after_id, before_id }: AnthropicModelsQuery,
): Promise<AnthropicModels> {
  const all = (await listCallableModels(services, caller, "vendorb")).map(present);
  const placeOf = (param: string, id: string) => {
    const place = all.findIndex((model) => model.id === id);
    if (place < 0)
      throw invalidParameter(
        param,
        "invalid_value",
        `The model '${id.slice(0, 100)}' was not found.`,
      );
    return place;
  };
  const from = after_id === undefined ? 0 : placeOf("after_id", after_id) + 1;
  const to = before_id === undefined ? all.length : placeOf("before_id", before_id);
  const wanted = all.slice(from, to);
  // A backward page ends right before `before_id`.
  const isBackwards = before_id !== undefined && after_id === undefined;
  const data = isBackwards ? wanted.slice(-limit) : wanted.slice(0, limit);
  return {
    data,
    has_more: data.length < wanted.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

/** @throws as readCallableModel */
export async function readAnthropicModel(
  services: Services,
  caller: Caller,
  reference: string,
): Promise<AnthropicModel> {
  const model = await readCallableModel(services, caller, reference, "vendorb");
  return { ...present(model), id: reference };
}

const present = ({ owner, name, created_at }: CallableModel): AnthropicModel => ({
  type: "model",
  id: `${owner}/${name}`,
  display_name: `${owner}/${name}`,
  created_at: new Date(created_at).toISOString(),
  lifecycle: "active",
  line: null,
  capabilities: null,
  max_input_tokens: null,
  max_tokens: null,
  deprecated_at: null,
  retires_at: null,
});
