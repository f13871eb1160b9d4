/** Pure rules: no process, no network, no clock but a fake one. */
import { defineProject } from "vitest/config";
import { BOUNDS, RULES, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "rules",
    include: [
      "dashboard",
      "dev",
      "domain",
      "lib",
      "middleware",
      "objects",
      "protocol",
      "storm",
    ].map((folder) => `test/${folder}/**/*.test.ts`),
    exclude: BOUNDS,
    ...RULES,
    isolate: false,
  },
});
