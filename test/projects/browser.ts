/** Users of the dashboard, in a Chromium. */
import { defineProject } from "vitest/config";
import { BROWSER, filesOf, isNightly, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "browser",
    // Each test looks at its pages in dark as well at night.
    ...filesOf(["browser"], ["test/browser/**/*.test.ts"]),
    provide: { isNightly },
    globalSetup: ["test/processes/packages.ts", "test/journey/global-setup.ts"],
    ...BROWSER,
    environment: "./test/browser/support/environment.ts",
    setupFiles: "test/processes/patience.ts",
    // All files share their imports, which are heavy: Miniflare, wrangler, playwright.
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
