/** The whole system as real processes: the Worker in workerd, runners, models. */
import { defineProject } from "vitest/config";
import { filesOf, isNightly, REAL_PROCESSES, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "journey",
    ...filesOf(["journey", "clients"]),
    provide: { isNightly },
    globalSetup: ["test/processes/packages.ts", "test/journey/global-setup.ts"],
    ...REAL_PROCESSES,
    setupFiles: "test/processes/patience.ts",
    // All files share their imports, which are heavy: Miniflare, wrangler.
    isolate: false,
    // The timeouts only catch what never ends, on a machine of any load.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
