/** Unpacks the last release, beside what all journeys stand on. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import setUpJourneys from "../journey/global-setup.ts";
import { unpackRelease } from "./release.ts";

export default async function setup(project: TestProject) {
  const tearDown = await setUpJourneys(project);
  const folder = await mkdtemp(join(tmpdir(), "auspex-release-"));
  project.provide("release", await unpackRelease(folder));
  return async () => {
    await tearDown?.();
    await rm(folder, { recursive: true });
  };
}
