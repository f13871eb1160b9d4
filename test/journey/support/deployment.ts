/** The deployments of the journeys: all of one bundle, which is built once. */
import { readFile } from "node:fs/promises";
import { inject } from "vitest";
import { type Deployment, startDeployment } from "../../../src/dev/deployment.ts";
import { OPERATOR_TOKEN, SECRET_KEY } from "./prepared-state.ts";

interface Options {
  stateFolder: string;
  /** What differs from wrangler.toml; rate limits are off. */
  variables?: Record<string, string>;
}

export async function startWorker({ stateFolder, variables }: Options): Promise<Deployment> {
  const { scriptPath, configuration } = inject("worker");
  return startDeployment({
    script: await readFile(scriptPath, "utf8"),
    configuration,
    stateFolder,
    port: 0,
    operatorToken: OPERATOR_TOKEN,
    secretKey: SECRET_KEY,
    variables: { RATE_LIMITS: "off", ...variables },
  });
}
