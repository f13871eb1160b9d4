/** The bed of a measurement: a deployment of a script and, for Auspex, a user, the models and a runner. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "../../src/dev/bundle.ts";
import { Client } from "../../src/dev/client.ts";
import { type Deployment, startDeployment } from "../../src/dev/deployment.ts";
import { type RunnerProcess, startRunner } from "../../src/dev/runner.ts";
import { publishModels, type Seed, seed } from "../../src/dev/seed.ts";
import type { Webhook } from "../../src/protocol/webhook.ts";

export const OPERATOR_TOKEN = "the-operator-token-of-the-bench";
export const USERNAME = "bench";
const MODELS = join(ROOT, "test/bench/models");
const SLOTS = 512;
const RUNNER_STOP_MS = 2_000;

/** Starts a deployment that is only used on loopback, for a few minutes. */
export const startBare = (script: string, variables: Record<string, string> = {}) =>
  startDeployment({
    script,
    port: 0,
    operatorToken: OPERATOR_TOKEN,
    secretKey: "a-secret-key-for-tests-of-32-chars",
    variables: {
      RATE_LIMITS: "off",
      MAX_READERS: "10000",
      MAX_STREAMS: "10000",
      // The bench prints tables, so log lines are off.
      LOG_SAMPLE_RATE: "0",
      ...variables,
    },
  });

export interface Bed {
  /** The bundle of the deployment. */
  script: string;
  deployment: Deployment;
  operator: Client;
  client: Client;
  seed: Seed;
  runner: RunnerProcess;
  stop(): Promise<void>;
}

/** @param variables that differ from wrangler.toml */
export async function startBed(script: string, variables?: Record<string, string>): Promise<Bed> {
  const deployment = await startBare(script, variables);
  const operator = new Client(deployment.url, OPERATOR_TOKEN);
  const user = await seed(operator, USERNAME);
  const client = new Client(deployment.url, user.token);
  await publishModels(client, USERNAME, MODELS);
  const stateFolder = await mkdtemp(join(tmpdir(), "auspex-bench-"));
  const runner = startRunner({
    url: deployment.url,
    token: user.runnerToken,
    name: "bench",
    hardware: "cpu",
    slots: SLOTS,
    models: { owners: [USERNAME], folder: MODELS },
    stateFolder,
    environment: { AUSPEX_LOG_LEVEL: "warn" },
    onLine: (line) => console.error(`runner: ${line}`),
  });
  return {
    script,
    deployment,
    operator,
    client,
    seed: user,
    runner,
    async stop() {
      await runner.stop(RUNNER_STOP_MS);
      await deployment.stop();
      await rm(stateFolder, { recursive: true, force: true });
    },
  };
}

/** Runs a no-op prediction, from the call to the answer with its output. */
export async function noop(client: Client, webhook?: Webhook): Promise<void> {
  const body = { model: `${USERNAME}/noop`, input: {}, ...(webhook && { webhook }) };
  const headers = { prefer: "wait" };
  // The floor's answers are not validated either.
  const response = await client.fetch("POST", "/predictions", { body, headers });
  const { status } = JSON.parse(await response.text());
  if (status !== "succeeded") throw new Error(`a no-op prediction is ${status}`);
}

/** Bundles a Worker of the bench as wrangler does. */
export async function bundleWorker(name: "floor" | "counting" | "far"): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "test/bench/worker", `${name}.ts`)],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
  });
  return outputFiles[0]?.text ?? "";
}
