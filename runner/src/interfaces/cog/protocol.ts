/**
 * The responses of Cog servers (0.7 to 0.22, and the Go variant), as far as the runner uses them.
 * Everything is validated, since containers are untrusted; unlisted fields are dropped.
 */
import { z } from "zod";
import { json } from "../../../../src/protocol/common.ts";

/** GET /health-check. Unknown statuses, such as INVALID of the Go variant, mean not ready. */
export const health = z.object({
  status: z.string(),
  setup: z.object({ logs: z.string().nullish() }).nullish(),
  concurrency: z.object({ current: z.number(), max: z.number().nullish().catch(null) }).optional(),
});
export type Health = z.infer<typeof health>;

/** The body of a webhook. */
export const state = z.object({
  id: z.string(),
  status: z.enum(["starting", "processing", "succeeded", "failed", "canceled"]),
  output: json.nullish(),
  logs: z.string().nullish(),
  error: z.string().nullish(),
  metrics: z.record(z.string(), z.unknown()).nullish(),
});
export type State = z.infer<typeof state>;

/** The output schema of GET /openapi.json. A document without an output schema counts as having no schema. */
export const openapi = z.object({
  components: z
    .object({ schemas: z.record(z.string(), z.unknown()).default({}) })
    .default({ schemas: {} }),
});
export type Openapi = z.infer<typeof openapi>;

const iterator = z.object({ "x-cog-array-type": z.literal("iterator") });

/** Whether the output is a list that grows item by item. */
export const isIterator = ({ components }: Openapi): boolean =>
  iterator.safeParse(components.schemas.Output).success;

/** Whether the output has files: `format: uri`, also in referenced schemas. */
export function declaresFiles({ components: { schemas } }: Openapi): boolean {
  const named = new Set(["Output"]);
  for (const name of named) {
    const text = JSON.stringify(schemas[name] ?? null);
    if (/"format":"uri"/.test(text)) return true;
    for (const [, other = ""] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      named.add(other);
  }
  return false;
}

const list = z.object({ type: z.literal("array") });

/** Whether files are output as a list at once rather than one after the other. */
export const listsFiles = (document: Openapi): boolean =>
  list.safeParse(document.components.schemas.Output).success &&
  !isIterator(document) &&
  declaresFiles(document);

const input = z.object({ properties: z.record(z.string(), z.unknown()) });

/** Whether the model accepts messages as in chat completions, and no `input` as in responses. */
export function takesChatOnly({ components }: Openapi): boolean {
  const { properties } = input.safeParse(components.schemas.Input).data ?? { properties: {} };
  return "messages" in properties && !("input" in properties);
}

/** The body of a 422. */
export const invalid = z.object({
  detail: z.array(z.object({ loc: z.array(z.unknown()), msg: z.string() })),
});
