/** The deployments of the journeys: all of one bundle, which is built once. */
import { readFile } from "node:fs/promises";
import { inject } from "vitest";
import { type Deployment, startDeployment } from "../../../src/dev/deployment.ts";
import { scriptsOf } from "../../skew/skew.ts";
import { LOCAL } from "./access.ts";

interface Options {
  stateFolder: string;
  /** What differs from wrangler.toml; rate limits are off. */
  variables?: Record<string, string> | undefined;
  /** Any free port otherwise. */
  port?: number;
  /** The whole of the last release. */
  isOld?: boolean;
}

export async function startWorker(options: Options): Promise<Deployment> {
  const { stateFolder, variables, port = LOCAL.port } = options;
  return startDeployment({
    ...LOCAL,
    ...(await scripts(options)),
    configuration: inject("worker").configuration,
    stateFolder,
    port,
    variables: { RATE_LIMITS: "off", ...variables },
  });
}

async function scripts({ isOld = false }: Options) {
  const script = await readFile(inject("worker").scriptPath, "utf8");
  const skew = inject("skew");
  if (!skew) return { script };
  const old = await readFile(inject("release").worker, "utf8");
  return isOld ? { script: old } : scriptsOf(skew, { old, new: script });
}
