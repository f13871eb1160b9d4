/** The whole system as real processes: the Worker in workerd, runners, models. */
import { defineProject } from "vitest/config";
import { filesOf, isNightly, REAL_PROCESSES, root } from "./shared.ts";

const files = filesOf(["journey"]);
const ofClients = isNightly ? ["test/clients/*.nightly.test.ts"] : [];

export default defineProject({
  root,
  test: {
    name: "journey",
    include: [...files.include, ...ofClients],
    exclude: files.exclude,
    provide: { isNightly },
    globalSetup: [
      "test/processes/assets.ts",
      "test/processes/packages.ts",
      "test/journey/global-setup.ts",
    ],
    ...REAL_PROCESSES,
    setupFiles: "test/processes/patience.ts",
    // All files share their imports, which are heavy: Miniflare, wrangler.
    isolate: false,
    // The timeouts only catch what never ends, on a machine of any load.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
