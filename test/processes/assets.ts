/**
 * Builds the [assets] of wrangler.toml once for all projects of a run, unless the caller says that they are built: a
 * build takes 4 s of a processor.
 */
import type { TestProject } from "vitest/node";
import { buildAssets } from "../../src/dev/assets.ts";
import { ASSETS_BUILT } from "../../src/dev/bundle.ts";

declare module "vitest" {
  interface ProvidedContext {
    assets: true;
  }
}

export default async function setup({ vitest }: TestProject): Promise<void> {
  if ("assets" in vitest.getProvidedContext()) return;
  vitest.provide("assets", true);
  if (process.env[ASSETS_BUILT] === undefined) await buildAssets();
}
