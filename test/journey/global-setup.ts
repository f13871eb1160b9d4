/** Builds the Worker once for all journeys. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundle } from "../../src/local/bundle.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of the bundle's script. */
    worker: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "auspex-bundle-"));
  await bundle(folder);
  project.provide("worker", join(folder, "worker.js"));
  return () => rm(folder, { recursive: true });
}
