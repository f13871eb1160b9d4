/**
 * The labels that Cog writes on the images that it builds:
 *
 * - 0.0.x: `org.cogmodel.cog_version`, `.config`, `.type_signature`, and no OpenAPI document.
 * - 0.3 to 0.9.8: `run.cog.version`, `.config`, `.openapi_schema`, and the same below `org.cogmodel.`
 * - since 0.9.9: only those below `run.cog.`
 *
 * `config` is cog.yaml as JSON. `openapi_schema` is missing from images of `cog run`.
 */
import { z } from "zod";
import { parseUntrusted } from "./untrusted-json.ts";

export interface CogLabels {
  version: string | undefined;
  /** Whether the model needs a GPU. */
  gpu: boolean;
  maxConcurrency: number | undefined;
  /** Whether the image expects managed weights, which are not in its layers. */
  expectsWeights: boolean;
  /** The OpenAPI document, as text. */
  openapi: string | undefined;
}

const NAMESPACES = ["run.cog.", "org.cogmodel."];

const config = z.object({
  build: z
    .object({ gpu: z.boolean().optional().catch(undefined) })
    .nullish()
    .catch(undefined),
  concurrency: z
    .object({ max: z.int().min(1).max(1_000).optional().catch(undefined) })
    .nullish()
    .catch(undefined),
  weights: z.array(z.unknown()).nullish().catch(undefined),
});

/** Returns undefined for an image that Cog has not built. */
export function cogLabels(labels: Record<string, string>): CogLabels | undefined {
  const label = (name: string) =>
    NAMESPACES.map((namespace) => labels[namespace + name]).find((value) => value !== undefined);
  const version = label("version") ?? label("cog_version");
  const text = label("config");
  if (version === undefined && text === undefined) return undefined;
  const { build, concurrency, weights } = config.safeParse(parseUntrusted(text ?? "")).data ?? {};
  return {
    version,
    gpu: build?.gpu ?? false,
    maxConcurrency: concurrency?.max,
    expectsWeights: (weights ?? []).length > 0,
    openapi: label("openapi_schema"),
  };
}
