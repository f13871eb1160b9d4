/** Pure rules at their bounds: the largest values, and thousands of random ones. */
import { defineProject } from "vitest/config";
import { BOUNDS, isNightly, RULES, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "bounds",
    include: BOUNDS,
    provide: { isNightly },
    ...RULES,
    isolate: false,
    // No test waits for anything, so the timeout only catches one that never ends, on a machine of any load.
    testTimeout: 60_000,
  },
});
