/** Pure rules: no process, no network, no clock but a fake one. */
import { defineProject } from "vitest/config";
import { COMPUTING, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "rules",
    include: ["dashboard", "domain", "lib", "middleware", "protocol"].map(
      (folder) => `test/${folder}/**/*.test.ts`,
    ),
    ...COMPUTING,
    isolate: false,
    // None waits: only what does not end at all is to be noticed, however busy the machine is.
    testTimeout: 60_000,
  },
});
