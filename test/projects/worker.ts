/** The Worker itself, in workerd, with a D1, R2, queues and objects of its own for each file. */
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineProject } from "vitest/config";
import { filesOf, isNightly, root, WORKER } from "./shared.ts";

const PASSWORDS = `${root}test/worker/support/passwords.ts`;

/** The modules that almost all files import: the command, receivers' package and `src/dev` are no part of the Worker. */
const WARM = ["src/!(cli|dev|receiver)/**/*.{ts,tsx}", "test/worker/support/*.ts"];

export default defineProject({
  root,
  // Vite transforms the Worker's modules while the global setups of `npm test` wait for their processes.
  server: { warmup: { ssrFiles: WARM } },
  plugins: [
    {
      name: "passwords-hashed-once",
      enforce: "pre",
      resolveId: (id, importer) =>
        id === "@better-auth/utils/password" && importer !== PASSWORDS ? PASSWORDS : undefined,
    },
    cloudflareTest(async () => ({
      wrangler: { configPath: `${root}wrangler.toml` },
      miniflare: {
        queueConsumers: {
          "auspex-dispatch": { maxBatchSize: 100, maxBatchTimeout: 0 },
          // Tests wait for counts: a release takes over with one of them.
          "auspex-counts": { maxBatchSize: 100, maxBatchTimeout: 0.05 },
        },
        // Limits are low, so that tests reach them soon. A test turns them on for itself.
        ratelimits: {
          RATE_LIMIT_ADDRESS: { namespace_id: "7301", simple: { limit: 5, period: 10 } },
          RATE_LIMIT_TOKEN: { namespace_id: "7302", simple: { limit: 8, period: 10 } },
          RATE_LIMIT_USER: { namespace_id: "7306", simple: { limit: 12, period: 10 } },
          RATE_LIMIT_WRITES: { namespace_id: "7307", simple: { limit: 4, period: 10 } },
          RATE_LIMIT_PREDICTIONS: { namespace_id: "7303", simple: { limit: 6, period: 10 } },
          RATE_LIMIT_REGISTRY: { namespace_id: "7309", simple: { limit: 6, period: 10 } },
          RATE_LIMIT_RECEIVER_SHARE: { namespace_id: "7310", simple: { limit: 1, period: 10 } },
          RATE_LIMIT_RECEIVER: { namespace_id: "7308", simple: { limit: 3, period: 10 } },
          RATE_LIMIT_SIGN_IN: { namespace_id: "7304", simple: { limit: 4, period: 60 } },
          RATE_LIMIT_ACCOUNT: { namespace_id: "7305", simple: { limit: 8, period: 60 } },
        },
        bindings: {
          OPERATOR_TOKEN: "an-operator-token-for-tests",
          SECRET_KEY: "a-secret-key-for-tests-of-32-chars",
          SIGN_UP: "open",
          IMAGE_REGISTRY: "registry.example.com",
          // workerd implements no jurisdictions.
          JURISDICTION: "",
          WEBHOOK_ALLOW_INSECURE: "true",
          // No resolver listens on port 1: a test that needs one starts its own.
          WEBHOOK_RESOLVER: "http://127.0.0.1:1/dns-query",
          MAX_WAITING: "20",
          RATE_LIMITS: "off",
          LOG_SAMPLE_RATE: "0",
          // R2 takes no smaller parts, and tests send whole ones.
          UPLOAD_PART_MIB: "5",
          MIGRATIONS: await readD1Migrations(`${root}migrations`),
        },
      },
    })),
  ],
  test: {
    name: "worker",
    isolate: false,
    ...WORKER,
    globalSetup: [
      "test/processes/assets.ts",
      "test/worker/support/receiver-setup.ts",
      "test/worker/support/oidc-setup.ts",
    ],
    ...filesOf(
      ["worker"],
      [
        "test/worker/accounts/usage.test.ts",
        "test/worker/accounts/vanishing.test.ts",
        "test/worker/api/closed.test.ts",
        "test/worker/api/fuzz.test.ts",
        "test/worker/api/openapi.test.ts",
        "test/worker/api/pagination.test.ts",
        "test/worker/api/small-requests.test.ts",
        "test/worker/api/write-rows.test.ts",
        "test/worker/budgets/ledger.test.ts",
        "test/worker/dashboard/access.test.ts",
        "test/worker/dashboard/account.test.ts",
        "test/worker/dashboard/versions.test.ts",
        "test/worker/deployments/sequences.test.ts",
        "test/worker/models/absent.test.ts",
        "test/worker/models/default-version.test.ts",
        "test/worker/models/moving-pages.test.ts",
        "test/worker/models/search-pages.test.ts",
        "test/worker/models/search.test.ts",
        "test/worker/models/version-size.test.ts",
        "test/worker/models/visibility.test.ts",
        "test/worker/models/weights.test.ts",
        "test/worker/openai/calls.test.ts",
        "test/worker/openai/images.test.ts",
        "test/worker/openai/silent-streams.test.ts",
        "test/worker/organizations/sequences.test.ts",
        "test/worker/predictions/channel.test.ts",
        "test/worker/predictions/data-uris.test.ts",
        "test/worker/predictions/input-files.test.ts",
        "test/worker/predictions/keys.test.ts",
        "test/worker/predictions/large.test.ts",
        "test/worker/predictions/retention.test.ts",
        "test/worker/predictions/stored-values-input.test.ts",
        "test/worker/predictions/waiting-calls.test.ts",
        "test/worker/registry/conformance/blobs.test.ts",
        "test/worker/registry/conformance/images.test.ts",
        "test/worker/registry/interleaved-collection.test.ts",
        "test/worker/registry/lost-objects.test.ts",
        "test/worker/transient-errors/account-alarms.test.ts",
        "test/worker/webhooks/post.test.ts",
      ],
    ),
    provide: { isNightly },
    setupFiles: ["test/worker/support/setup.ts"],
    // The timeout only catches a test that never ends, on a machine of any load.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Without bundling, vitest does not resolve the imports inside itty-durable.
    deps: { optimizer: { ssr: { enabled: true, include: ["itty-durable"] } } },
  },
});
