/** The agent that runs models, against a control plane of the tests. */
import { defineProject } from "vitest/config";
import { REAL_PROCESSES, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "runner",
    include: ["test/runner/**/*.test.ts"],
    ...REAL_PROCESSES,
    // What is imported is the same for all files.
    isolate: false,
    testTimeout: 30_000,
  },
});
