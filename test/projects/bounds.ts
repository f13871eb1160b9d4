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
    // None waits: only what does not end at all is to be noticed, however busy the machine is.
    testTimeout: 60_000,
  },
});
