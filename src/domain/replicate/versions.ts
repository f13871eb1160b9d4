/** Versions in the shape of Replicate's API. */
import { hash } from "@stablelib/sha256";
import { hex } from "../../lib/hex.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import type { ReplicateVersion } from "../../protocol/replicate.ts";

/**
 * Returns the ID of a version. It is not the digest of the image, which several versions may share. It is
 * derived, so that whatever knows a model's ID and a number can name the version without a look-up.
 */
export const versionIdOf = (modelId: string, number: number): string =>
  hex(new Uint8Array(hash(new TextEncoder().encode(`${modelId}:${number}`))));

interface VersionFacts {
  model_id: string;
  number: number;
  created_at: number;
  schemas: Schemas;
}

export const replicateVersion = (version: VersionFacts): ReplicateVersion => ({
  id: versionIdOf(version.model_id, version.number),
  created_at: new Date(version.created_at).toISOString(),
  // Python's client needs a text here, and takes one that is no version for a recent Cog.
  cog_version: "",
  openapi_schema: openapiSchema(version.schemas),
});

/** The document that Cog's server would have: clients read the schemas `Input` and `Output` in it. */
function openapiSchema({ prediction, components }: Schemas): ReplicateVersion["openapi_schema"] {
  const { input, output, stream_output } = prediction;
  const own = [input, output].map(({ components: nested }) =>
    isObject(nested) && isObject(nested.schemas) ? nested.schemas : {},
  );
  return {
    openapi: "3.0.2",
    info: { title: "Cog", version: "0.1.0" },
    paths: {},
    components: {
      schemas: {
        ...components?.schemas,
        ...Object.assign({}, ...own),
        Input: withoutComponents(input),
        Output: { ...withoutComponents(output), ...(stream_output && isList(output) && ITERATOR) },
      },
    },
  };
}

/** Says that the items of a list come one by one. */
const ITERATOR = { "x-cog-array-type": "iterator" };

const isList = ({ type }: Record<string, Json>) => type === "array";

function withoutComponents({ components: _, ...schema }: Record<string, Json>) {
  return schema;
}
