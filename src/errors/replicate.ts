/** Errors in the format of Replicate's API: a problem's `detail` is a text, also of a 422. */
import type { Context } from "hono";
import { REPLICATE_PATH } from "../domain/replicate/prediction.ts";
import type { ValidationFailure } from "../domain/schemas/validation.ts";

/** Whether a request is below /replicate/v1, whose clients understand only this format. */
export const isReplicateRequest = ({ req }: Context): boolean =>
  req.path.startsWith(REPLICATE_PATH);

export function replicateValidationResponse({ issues }: ValidationFailure, c: Context): Response {
  const fields = issues.map(({ loc: [, ...names], msg, type }) => ({
    type,
    field: names.join("."),
    description: msg,
  }));
  const detail = fields.map(({ field, description }) =>
    field === "" ? `- ${description}` : `- ${field}: ${description}`,
  );
  const body = {
    type: "urn:auspex:invalid",
    title: "Input validation failed",
    status: 422,
    detail: detail.join("\n"),
    invalid_fields: fields,
    request_id: c.get("requestId"),
  };
  return Response.json(body, {
    status: 422,
    headers: { "content-type": "application/problem+json" },
  });
}
