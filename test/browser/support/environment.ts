/** A vitest environment, which closes what the test files of a worker have shared when the worker ends. */
import type { Environment } from "vitest/runtime";

type End = () => Promise<unknown>;

declare global {
  var endsOfWorker: End[];
}

/** Runs `end` after the last test file of this vitest worker. What was opened last is closed first. */
export const atEndOfWorker = (end: End) => globalThis.endsOfWorker.unshift(end);

export default {
  name: "browser",
  viteEnvironment: "ssr",
  setup() {
    globalThis.endsOfWorker = [];
    return {
      async teardown() {
        for (const end of globalThis.endsOfWorker) await end();
      },
    };
  },
} satisfies Environment;
