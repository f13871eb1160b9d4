/**
 * Five projects: rules (pure), worker (in workerd), runner (the agent), journey (real processes),
 * browser (people at the dashboard; where there is a Chromium).
 */
import { fileURLToPath } from "node:url";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { buildAssets } from "../src/dev/assets.ts";
import { browserIsThere } from "./browser/support/chromium.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** By itself vitest takes one less than there are processors, and two are all that CI has. */
const WORKERS = 2;

// What wrangler.toml names has to be there when the Worker starts.
await buildAssets();

const browser = {
  root,
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    globalSetup: "test/journey/global-setup.ts",
    // After the journeys, whose clocks a Chromium would disturb.
    sequence: { groupOrder: 2 },
    maxWorkers: WORKERS,
    // What is imported is the same for all files, and heavy: Miniflare, wrangler, playwright.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

export default defineConfig({
  root,
  test: {
    projects: [
      {
        root,
        test: {
          name: "rules",
          include: ["dashboard", "domain", "lib", "middleware", "protocol"].map(
            (of) => `test/${of}/**/*.test.ts`,
          ),
          maxWorkers: WORKERS,
        },
      },
      {
        root,
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: `${root}wrangler.toml` },
            miniflare: {
              queueConsumers: {
                "auspex-dispatch": { maxBatchSize: 100, maxBatchTimeout: 0 },
                "auspex-projection": { maxBatchSize: 100, maxBatchTimeout: 0.05 },
              },
              // What is reached soon: a test turns them on for itself.
              ratelimits: {
                RATE_LIMIT_ADDRESS: { namespace_id: "7301", simple: { limit: 5, period: 10 } },
                RATE_LIMIT_TOKEN: { namespace_id: "7302", simple: { limit: 8, period: 10 } },
                RATE_LIMIT_USER: { namespace_id: "7306", simple: { limit: 12, period: 10 } },
                RATE_LIMIT_WRITES: { namespace_id: "7307", simple: { limit: 4, period: 10 } },
                RATE_LIMIT_PREDICTIONS: { namespace_id: "7303", simple: { limit: 6, period: 10 } },
                RATE_LIMIT_RECEIVER: { namespace_id: "7308", simple: { limit: 3, period: 10 } },
                RATE_LIMIT_SIGN_IN: { namespace_id: "7304", simple: { limit: 4, period: 60 } },
                RATE_LIMIT_ACCOUNT: { namespace_id: "7305", simple: { limit: 8, period: 60 } },
              },
              bindings: {
                OPERATOR_TOKEN: "an-operator-token-for-tests",
                SECRET_KEY: "a-secret-key-for-tests-of-32-chars",
                SIGN_UP: "open",
                WEBHOOK_ALLOW_INSECURE: "true",
                // Nobody answers there: what a test resolves, it resolves with a server of its own.
                WEBHOOK_RESOLVER: "http://127.0.0.1:1/dns-query",
                MAX_WAITING: "20",
                RATE_LIMITS: "off",
                MIGRATIONS: await readD1Migrations(`${root}migrations`),
              },
            },
          })),
        ],
        test: {
          name: "worker",
          isolate: false,
          maxWorkers: WORKERS,
          globalSetup: "test/worker/support/receiver-setup.ts",
          include: ["test/worker/**/*.test.ts"],
          setupFiles: ["test/worker/support/setup.ts"],
          // A password takes 100 ms of a processor, and there are many.
          testTimeout: 20_000,
          // Without bundling, vitest does not resolve the imports inside itty-durable.
          deps: { optimizer: { ssr: { enabled: true, include: ["itty-durable"] } } },
        },
      },
      {
        root,
        test: {
          name: "runner",
          include: ["test/runner/**/*.test.ts"],
          maxWorkers: WORKERS,
          testTimeout: 30_000,
        },
      },
      {
        root,
        test: {
          name: "journey",
          include: ["test/journey/**/*.test.ts"],
          globalSetup: "test/journey/global-setup.ts",
          // After the others, which would disturb its clocks; two at a time, for they wait more than they work.
          sequence: { groupOrder: 1 },
          maxWorkers: WORKERS,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      ...(browserIsThere ? [browser] : []),
    ],
  },
});
