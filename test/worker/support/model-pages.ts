/** Pages of models and versions: makes both through their forms, and reads the pages. */
import { expect } from "vitest";
import { textOf } from "./page-text.ts";
import { signedUp } from "./visitor.ts";
import { DIGEST } from "./world.ts";

export const NEW_MODEL = {
  name: "story",
  visibility: "public",
  description: "",
  overview: "",
  source_url: "",
  license_url: "",
  paper_url: "",
  cover_image_url: "",
  hardware_identifier: "",
};

export const NEW_VERSION = {
  release_notes: "First",
  image_by: "digest",
  container_image_digest: DIGEST,
  repository: "",
  schemas_from: "form",
  interface: "cog",
  input: '{"type": "object"}',
  output: "{}",
  stream_output: "",
  hardware_identifier: "",
  variable_names: "",
  timeout_seconds: "",
  max_concurrency: "",
  idle_seconds: "",
  listen_timeout_seconds: "",
  weights: "",
};

/** Returns a user with a model that was made through the pages. */
export async function owner(fields: Record<string, string | string[]> = {}) {
  const person = await signedUp();
  const made = await person.visitor.send("/models/new", { ...NEW_MODEL, ...fields });
  expect(made.status).toBe(303);
  return { ...person, path: made.location ?? "" };
}

/** Returns the error below a field. */
export const issueOf = (html: string, field: string) =>
  textOf(html.split(`id="${field}-error">`)[1]?.split("</p>")[0] ?? "");

export const INPUT = {
  type: "object",
  required: ["prompt"],
  properties: {
    steps: { type: "integer", minimum: 1, maximum: 50, default: 20, "x-order": 1 },
    prompt: { type: "string", maxLength: 300, description: "What `to` do", "x-order": 0 },
    size: { allOf: [{ $ref: "#/components/schemas/Size" }], default: "small", "x-order": 2 },
  },
  components: { schemas: { Size: { enum: ["small", "large"], description: "How big" } } },
};
