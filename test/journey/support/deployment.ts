/** The deployments of the journeys, all of one bundle, which is built once. */
import { readFile } from "node:fs/promises";
import { inject } from "vitest";
import { type Deployment, startDeployment } from "../../../src/dev/deployment.ts";
import { LOCAL } from "./access.ts";

interface Options {
  stateFolder: string;
  /** Variables that differ from wrangler.toml; rate limits are off. */
  variables?: Record<string, string> | undefined;
  /** Any free port by default. */
  port?: number;
}

export async function startWorker(options: Options): Promise<Deployment> {
  const { stateFolder, variables, port = LOCAL.port } = options;
  const { scriptPath, configuration } = inject("worker");
  return startDeployment({
    ...LOCAL,
    script: await readFile(scriptPath, "utf8"),
    configuration,
    stateFolder,
    port,
    variables: { RATE_LIMITS: "off", ...variables },
  });
}
