/** The nightly tests: all that are too long for every change, and the newest versions of others' programs. */
import { defineConfig } from "vitest/config";

process.env.AUSPEX_NIGHTLY = "1";
const { default: config } = await import("../vitest.config.ts");
const { default: agents } = await import("../projects/agents.ts");

export default defineConfig({
  ...config,
  test: { ...config.test, projects: [...(config.test?.projects ?? []), agents] },
});
