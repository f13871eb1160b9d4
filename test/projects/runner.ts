/** The agent that runs models, against a control plane of the tests. */
import { defineProject } from "vitest/config";
import { REAL_PROCESSES, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "runner",
    include: ["test/runner/**/*.test.ts"],
    ...REAL_PROCESSES,
    testTimeout: 30_000,
  },
});
