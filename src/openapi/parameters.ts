/** Parameters that have the same name and the same meaning everywhere. */
import type { Operation, Parameter } from "./types.ts";

const DESCRIPTIONS: Record<string, string> = {
  action: "`drain`: it finishes what runs and takes no more; `resume`: it takes work again",
  identifier: "Of the class of machines",
  model_name: "Name of the model",
  model_owner: "Username of the model's owner",
  part_number: "Number of the part, from 1",
  prediction_id: "Id of the prediction",
  runner_id: "Id of the runner",
  slug: "Of the category",
  sort_by: "What the list is sorted by",
  sort_direction: "`asc`: smallest or oldest first; `desc`: largest or newest first",
  token_id: "Id of the token, not the token itself",
  upload_id: "Id of the upload",
  username: "Name of the user",
  version_number: "Number of the version",
};

/** The parameter with a description, its own where it has one. */
export const describeParameter = (parameter: Parameter): Parameter => ({
  ...parameter,
  description: parameter.description ?? DESCRIPTIONS[parameter.name],
});

/** The signature that an address must have, or may have in place of a token. */
export const findSignature = ({ parameters = [] }: Operation): Parameter | undefined =>
  parameters.find((one): one is Parameter => "name" in one && one.name === "signature");

/** What the read of a part takes. */
export const rangeHeader: Parameter = {
  name: "range",
  in: "header",
  required: false,
  description: "One range of bytes; several, and what is none, are answered with all of it",
  schema: { type: "string", pattern: "^bytes=\\d{0,15}-\\d{0,15}$" },
  example: "bytes=0-1023",
};

/** What a conditional read takes. */
export const ifNoneMatchHeader: Parameter = {
  name: "if-none-match",
  in: "header",
  required: false,
  description: "The `ETag` of an answer that you have: 304 while it is still the same",
  schema: { type: "string" },
  example: 'W/"5d41402abc4b2a76b9719d911017c592"',
};
