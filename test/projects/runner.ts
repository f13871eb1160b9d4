/** The agent that runs models, against a control plane of the tests. */
import { defineProject } from "vitest/config";
import { root, WORKERS } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "runner",
    include: ["test/runner/**/*.test.ts"],
    maxWorkers: WORKERS,
    testTimeout: 30_000,
  },
});
