/** The body of a completion, in the form that its model takes. */

import { completionInputOf } from "../../domain/openai/completion.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { invalidParameter } from "../../errors/openai.ts";
import type { ResolvedVersion } from "../predictions/version-resolution.ts";
import type { Call } from "./calls.ts";

/** @throws OpenAiProblem when the model takes no such prompt */
export function completionBody({ version }: ResolvedVersion, body: Call["body"]): Call["body"] {
  if (version.configuration.interface === "vendora") return body;
  const { model, stream } = body;
  const input = completionInputOf(body, versionSchema(version.schemas, "input"));
  if (input) return { ...input, model, ...(stream && { stream }) };
  const message = `'${model}' takes one prompt at a time, as text: send each in a request of its own.`;
  throw invalidParameter("prompt", "invalid_value", message);
}
