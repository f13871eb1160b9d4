/** Users of the dashboard, in a Chromium. */
import { defineProject } from "vitest/config";
import { BROWSER, filesOf, isNightly, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "browser",
    // The nightly run checks each page of each test with axe, in dark as well.
    ...filesOf(["browser"], ["test/browser/**/*.test.ts"]),
    provide: { isNightly },
    globalSetup: [
      "test/processes/assets.ts",
      "test/processes/packages.ts",
      "test/journey/global-setup.ts",
    ],
    ...BROWSER,
    environment: "./test/browser/support/environment.ts",
    setupFiles: "test/processes/patience.ts",
    // All files share their imports, which are heavy: Miniflare, wrangler, playwright.
    isolate: false,
    // The timeouts only catch what never ends: a machine eight times slower took 120 s for the hook of one file.
    testTimeout: 400_000,
    hookTimeout: 400_000,
  },
});
