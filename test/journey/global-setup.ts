/** Builds the Worker once for all that stand on a real deployment: journeys, and the browser. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundle } from "../../src/dev/bundle.ts";
import { browserIsThere } from "../browser/support/chromium.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of the bundle's script. */
    worker: string;
  }
}

/** Each project calls it; what one has provided for the whole run is there for the next. */
export default async function setup({ vitest }: TestProject) {
  if ("worker" in vitest.getProvidedContext()) return;
  if (!browserIsThere) console.log("There is no Chromium: the tests in a browser are left out.");
  const folder = await mkdtemp(join(tmpdir(), "auspex-bundle-"));
  await bundle(folder);
  vitest.provide("worker", join(folder, "worker.js"));
  return () => rm(folder, { recursive: true });
}
