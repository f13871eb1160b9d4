/** All tests, as projects; each can be run by itself (package.json: test:rules, test:worker …). */
import { defineConfig } from "vitest/config";
import { browserIsThere } from "./browser/support/chromium.ts";
import bounds from "./projects/bounds.ts";
import browser from "./projects/browser.ts";
import journey from "./projects/journey.ts";
import rules from "./projects/rules.ts";
import runner from "./projects/runner.ts";
import { Sequencer } from "./projects/sequence.ts";
import { root } from "./projects/shared.ts";
import { TimesReporter } from "./projects/times.ts";
import worker from "./projects/worker.ts";

const projects = [rules, bounds, worker, runner, journey, ...(browserIsThere ? [browser] : [])];

export default defineConfig({
  root,
  test: {
    projects,
    sequence: { sequencer: Sequencer },
    reporters: ["default", new TimesReporter()],
  },
});
