/**
 * The state that most worlds start with, so that each need not apply the migrations and publish the models.
 */
import { cpSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../src/dev/bundle.ts";
import { Client } from "../../../src/dev/client.ts";
import { type DeploymentOptions, startDeployment } from "../../../src/dev/deployment.ts";
import { SHARED } from "../../../src/dev/examples.ts";
import { publishModels, type Seed, seed } from "../../../src/dev/seed.ts";
import { copyModels } from "../../support/models.ts";
import { LOCAL, OPERATOR_TOKEN, USERNAME } from "./access.ts";

export interface PreparedState {
  /** State of a deployment that has stopped. */
  state: string;
  /** The examples and the models of the journeys, as folders for the process engine. */
  models: string;
  /** The owner of the models. */
  user: Seed;
}

export async function prepareState(
  folder: string,
  worker: Pick<DeploymentOptions, "script" | "configuration">,
): Promise<PreparedState> {
  const state = join(folder, "state");
  const models = join(folder, "models");
  const [deployment] = await Promise.all([
    startDeployment({
      ...LOCAL,
      ...worker,
      stateFolder: state,
      variables: { RATE_LIMITS: "off" },
    }),
    assembleModels(models),
  ]);
  try {
    const user = await seed(new Client(deployment.url, OPERATOR_TOKEN), USERNAME);
    await publishModels(new Client(deployment.url, user.token), USERNAME, models);
    return { state, models, user };
  } finally {
    await deployment.stop();
  }
}

async function assembleModels(folder: string): Promise<void> {
  await copyModels(folder);
  // duotone needs sharp, which is in the repository's node_modules.
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const own = join(ROOT, "test/journey/models");
  for (const name of readdirSync(own)) {
    cpSync(join(own, name), join(folder, name), { recursive: true });
    cpSync(join(SHARED, "cog.mjs"), join(folder, name, "cog.mjs"));
  }
}
