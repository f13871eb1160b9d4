/**
 * The state that most worlds start with: to apply the migrations and to publish the models takes a
 * second of processor time, and there are dozens of worlds.
 */
import { cpSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../src/dev/bundle.ts";
import { Client } from "../../../src/dev/client.ts";
import { type DeploymentOptions, startDeployment } from "../../../src/dev/deployment.ts";
import { copyExamples, SHARED } from "../../../src/dev/examples.ts";
import { publishModels, type Seed, seed } from "../../../src/dev/seed.ts";

export const OPERATOR_TOKEN = "an-operator-token-for-journeys";
export const SECRET_KEY = "a-secret-key-for-tests-of-32-chars";
export const USERNAME = "ada";

export interface PreparedState {
  /** State of a deployment that has stopped. */
  state: string;
  /** The examples and the models of the journeys, as folders for the process engine. */
  models: string;
  /** Whose models these are. */
  seed: Seed;
}

export async function prepareState(
  folder: string,
  worker: Pick<DeploymentOptions, "script" | "configuration">,
): Promise<PreparedState> {
  const state = join(folder, "state");
  const models = join(folder, "models");
  const [deployment] = await Promise.all([
    startDeployment({
      ...worker,
      stateFolder: state,
      port: 0,
      operatorToken: OPERATOR_TOKEN,
      secretKey: SECRET_KEY,
      variables: { RATE_LIMITS: "off" },
    }),
    assembleModels(models),
  ]);
  try {
    const seeds = await seed(new Client(deployment.url, OPERATOR_TOKEN), USERNAME);
    await publishModels(new Client(deployment.url, seeds.token), USERNAME, models);
    return { state, models, seed: seeds };
  } finally {
    await deployment.stop();
  }
}

async function assembleModels(folder: string): Promise<void> {
  await copyExamples(folder);
  // For duotone's sharp.
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const own = join(ROOT, "test/journey/models");
  for (const name of readdirSync(own)) {
    cpSync(join(own, name), join(folder, name), { recursive: true });
    cpSync(join(SHARED, "cog.mjs"), join(folder, name, "cog.mjs"));
  }
}
