/** People at the dashboard, in a Chromium. */
import { defineProject } from "vitest/config";
import { root, WORKERS } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    globalSetup: "test/journey/global-setup.ts",
    // After the journeys, whose clocks a Chromium would disturb.
    sequence: { groupOrder: 2 },
    maxWorkers: WORKERS,
    // What is imported is the same for all files, and heavy: Miniflare, wrangler, playwright.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
