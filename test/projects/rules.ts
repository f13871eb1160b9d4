/** Pure rules: no process, no network, no clock but a fake one. */
import { defineProject } from "vitest/config";
import { root, WORKERS } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "rules",
    include: ["dashboard", "domain", "lib", "middleware", "protocol"].map(
      (folder) => `test/${folder}/**/*.test.ts`,
    ),
    maxWorkers: WORKERS,
    isolate: false,
  },
});
