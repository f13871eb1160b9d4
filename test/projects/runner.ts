/**
 * Programs on machines of users: the agent that runs models, and the command, against services of the tests.
 */
import { defineProject } from "vitest/config";
import { filesOf, isNightly, REAL_PROCESSES, root } from "./shared.ts";

export default defineProject({
  root,
  test: {
    name: "runner",
    ...filesOf(
      ["runner", "cli"],
      [
        "test/runner/examples/chat.test.ts",
        "test/runner/examples/chat-convention.test.ts",
        "test/runner/files/output-files.test.ts",
        "test/runner/interfaces/advice.test.ts",
        "test/runner/interfaces/cog.test.ts",
        "test/runner/interfaces/cog-description.test.ts",
        "test/runner/interfaces/cog-webhooks.test.ts",
        "test/cli/commands/login.test.ts",
        "test/cli/commands/models.test.ts",
        "test/cli/publish/publish.test.ts",
      ],
    ),
    provide: { isNightly },
    globalSetup: [
      "test/processes/assets.ts",
      "test/processes/packages.ts",
      "test/runner/support/model-folders.ts",
    ],
    ...REAL_PROCESSES,
    setupFiles: "test/processes/patience.ts",
    // All files share their imports.
    isolate: false,
    // The limits only notice a test that hangs: a busy machine took 73 s for one of 5 s.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
