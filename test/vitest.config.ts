/** Four projects: rules (pure), worker (in workerd), runner (the agent), journey (real processes). */
import { fileURLToPath } from "node:url";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const root = fileURLToPath(new URL("..", import.meta.url));

export default defineConfig({
  root,
  test: {
    projects: [
      {
        root,
        test: {
          name: "rules",
          include: ["test/domain/**/*.test.ts", "test/protocol/**/*.test.ts"],
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
                RATE_LIMIT_PREDICTIONS: { namespace_id: "7303", simple: { limit: 6, period: 10 } },
              },
              bindings: {
                OPERATOR_TOKEN: "an-operator-token-for-tests",
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
          globalSetup: "test/worker/support/receiver-setup.ts",
          include: ["test/worker/**/*.test.ts"],
          setupFiles: ["test/worker/support/setup.ts"],
          // Without bundling, vitest does not resolve the imports inside itty-durable.
          deps: { optimizer: { ssr: { enabled: true, include: ["itty-durable"] } } },
        },
      },
      {
        root,
        test: { name: "runner", include: ["test/runner/**/*.test.ts"], testTimeout: 30_000 },
      },
      {
        root,
        test: {
          name: "journey",
          include: ["test/journey/**/*.test.ts"],
          globalSetup: "test/journey/global-setup.ts",
          // After the others, which would disturb its clocks; two at a time, for they wait more than they work.
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
