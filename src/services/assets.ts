/** Assets built with the Worker (src/dev/assets.ts), read by their names. */
import type { z } from "zod";
import type { Bindings } from "../env.ts";
import {
  type Guide,
  guide,
  type Manifest,
  manifest,
  type Passage,
  passages,
} from "../protocol/assets.ts";

/** Makes a reader that reads each asset once per isolate: assets change only with a deployment. */
const once = <Value>(schema: z.ZodType<Value>) => {
  const known = new WeakMap<Bindings, Map<string, Value>>();
  return async (env: Bindings, path: string): Promise<Value> => {
    const values = known.get(env) ?? new Map<string, Value>();
    known.set(env, values);
    let value = values.get(path);
    if (value === undefined) {
      const response = await env.ASSETS.fetch(`https://assets/${path}`);
      value = schema.parse(await response.json());
      values.set(path, value);
    }
    return value;
  };
};

const manifests = once(manifest);
const guides = once(guide);
const passageLists = once(passages);

export const readManifest = (env: Bindings): Promise<Manifest> => manifests(env, "manifest.json");

export const guideOf = (env: Bindings, name: string): Promise<Guide> =>
  guides(env, `docs/${name}.json`);

export const readPassages = (env: Bindings): Promise<Passage[]> =>
  passageLists(env, "docs-passages.json");
