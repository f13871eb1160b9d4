/** Parameters with the same meaning everywhere. */
import type { Operation, Parameter } from "./types.ts";

const DESCRIPTIONS: Record<string, string> = {
  account: "Username of a user or an organization",
  action: "`drain`: finish running predictions and accept no more. `resume`: accept work again",
  backup_id: "ID of the backup",
  deployment_name: "Name of the deployment",
  deployment_owner: "Username of the deployment's owner, which is your account",
  identifier: "Identifier of the hardware",
  model_name: "Name of the model",
  model_owner: "Username of the model's owner",
  part_number: "Number of the part, starting at 1",
  prediction_id: "ID of the prediction",
  alert_id: "ID of the alert",
  runner_id: "ID of the runner",
  slug: "Slug of the category",
  sort_by: "Sort key",
  sort_direction: "`asc`: smallest or oldest first; `desc`: largest or newest first",
  token_id: "ID of the token, not the token itself",
  upload_id: "ID of the upload",
  username: "Username",
  organization: "Username of the organization",
  budget_id: "ID of the budget",
  invitation_id: "ID of the invitation",
  version_number: "Version number",
};

/** Adds the shared description unless the parameter has its own. */
export const describeParameter = (parameter: Parameter): Parameter => ({
  ...parameter,
  description: parameter.description ?? DESCRIPTIONS[parameter.name],
});

/** The signature parameter, if the operation accepts signed URLs. */
export const findSignature = ({ parameters = [] }: Operation): Parameter | undefined =>
  parameters.find((one): one is Parameter => "name" in one && one.name === "signature");

/** The header of operations that support ranges. */
export const rangeHeader: Parameter = {
  name: "range",
  in: "header",
  required: false,
  description: "A single byte range. Multiple or invalid ranges return the whole file",
  schema: { type: "string", pattern: "^bytes=\\d{0,15}-\\d{0,15}$" },
  example: "bytes=0-1023",
};

/** The header of operations that support conditional requests. */
export const ifNoneMatchHeader: Parameter = {
  name: "if-none-match",
  in: "header",
  required: false,
  description: "`ETag` of a previous response. Returns 304 if it has not changed",
  schema: { type: "string" },
  example: 'W/"5d41402abc4b2a76b9719d911017c592"',
};
