/** All of it as real processes: the Worker in workerd, runners, models. */
import { defineProject } from "vitest/config";
import { root, WORKERS } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "journey",
    include: ["test/journey/**/*.test.ts"],
    globalSetup: "test/journey/global-setup.ts",
    // After the others, which would disturb its clocks; two at a time, for they wait more than they work.
    sequence: { groupOrder: 1 },
    maxWorkers: WORKERS,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
