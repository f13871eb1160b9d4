/** What was built beside the Worker (src/dev/assets.ts), found by its name. */
import type { Bindings } from "../env.ts";
import { type Manifest, manifest } from "../protocol/assets.ts";

const known = new WeakMap<Bindings, Manifest>();

/** They change with a deployment alone: looked up once per isolate. */
export async function assetsOf(env: Bindings): Promise<Manifest> {
  let found = known.get(env);
  if (!found) {
    const response = await env.ASSETS.fetch("https://assets/manifest.json");
    found = manifest.parse(await response.json());
    known.set(env, found);
  }
  return found;
}
