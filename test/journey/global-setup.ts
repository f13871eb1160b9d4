/** Bundles the Worker and prepares a state, once for all projects that use a real deployment. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundle } from "../../src/dev/bundle.ts";
import { type Configuration, readConfiguration } from "../../src/dev/deployment.ts";
import { browserIsThere } from "../browser/support/chromium.ts";
import { type PreparedState, prepareState } from "./support/prepared-state.ts";

declare module "vitest" {
  interface ProvidedContext {
    worker: { scriptPath: string; configuration: Configuration };
    prepared: PreparedState;
  }
}

/**
 * Vitest calls this setup once for each project. A value that one project has provided is there for the next.
 */
export default async function setup({ vitest }: TestProject) {
  if ("worker" in vitest.getProvidedContext()) return;
  if (!browserIsThere) console.log("There is no Chromium: the tests in a browser are left out.");
  const folder = await mkdtemp(join(tmpdir(), "auspex-prepared-"));
  const [script, configuration] = await Promise.all([
    bundle(join(folder, "bundle"), { assetsBuilt: true }),
    readConfiguration(),
  ]);
  vitest.provide("worker", { scriptPath: join(folder, "bundle/worker.js"), configuration });
  vitest.provide("prepared", await prepareState(folder, { script, configuration }));
  return () => rm(folder, { recursive: true });
}
