/** Pure rules: no process, no network, no clock but a fake one. */
import { defineProject } from "vitest/config";
import { BOUNDS, filesOf, RULES, root } from "./shared.ts";

const files = filesOf([
  "dashboard",
  "dev",
  "domain",
  "lib",
  "middleware",
  "objects",
  "protocol",
  "storm",
]);

export default defineProject({
  root,
  test: {
    name: "rules",
    include: files.include,
    exclude: [...files.exclude, ...BOUNDS],
    ...RULES,
    isolate: false,
    // The limit only notices a test that hangs: a busy machine took 6 s for one of 3 s.
    testTimeout: 60_000,
  },
});
