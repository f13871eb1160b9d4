/** Coding agents in their newest versions, which are installed during the run. */
import { defineProject } from "vitest/config";
import { REAL_PROCESSES, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "agents",
    include: ["test/nightly/**/*.test.ts"],
    globalSetup: [
      "test/processes/assets.ts",
      "test/processes/packages.ts",
      "test/journey/global-setup.ts",
    ],
    ...REAL_PROCESSES,
    setupFiles: "test/processes/patience.ts",
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
});
