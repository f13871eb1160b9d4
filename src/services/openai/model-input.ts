/**
 * The input of a Cog model for a call whose body is not its input: the field of its own schema for each
 * parameter.
 */

import { interfaceOf } from "../../domain/models/remote.ts";
import { NotSupportedByChat } from "../../domain/openai/strict-chat.ts";
import { UnfitParameter } from "../../domain/openai/unsupported.ts";
import { rootKeywords, versionSchema } from "../../domain/schemas/version-schemas.ts";
import { invalidParameter } from "../../errors/openai.ts";
import type { Json } from "../../protocol/common.ts";
import type { ResolvedVersion } from "../predictions/version-resolution.ts";
import type { Call } from "./calls.ts";

/**
 * Returns no input for a server of the convention, which gets the body. A model whose schema names no inputs
 * gets the body as its input.
 * @param translate throws UnfitParameter
 * @throws OpenAiProblem unsupported_parameter, invalid_value
 */
export function modelInput(
  { version }: ResolvedVersion,
  body: Record<string, Json>,
  translate: (schema: Json) => Record<string, Json>,
): Pick<Call, "input" | "isOwnInput"> {
  if (interfaceOf(version.configuration) === "vendora") return {};
  if (rootKeywords(version.schemas, "input").properties === undefined)
    return { input: body, isOwnInput: true };
  const schema = versionSchema(version.schemas, "input");
  return { input: orUnfit(() => translate(schema)), isOwnInput: true };
}

/** Returns the result of `make`. @throws OpenAiProblem for a parameter that does not fit */
export function orUnfit<Result>(make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (error instanceof NotSupportedByChat)
      throw invalidParameter(error.param, "unsupported_parameter", error.message);
    if (!(error instanceof UnfitParameter)) throw error;
    const { param, code, message } = error;
    throw invalidParameter(param, code, message);
  }
}
