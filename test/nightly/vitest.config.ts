/** What runs each night: the newest versions of others' programs, installed when it runs. */
import { defineConfig } from "vitest/config";
import { REAL_PROCESSES, root } from "../projects/shared.ts";

export default defineConfig({
  root,
  test: {
    name: "nightly",
    include: ["test/nightly/**/*.test.ts"],
    globalSetup: ["test/processes/packages.ts", "test/journey/global-setup.ts"],
    ...REAL_PROCESSES,
    setupFiles: "test/processes/patience.ts",
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
});
