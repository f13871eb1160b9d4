/** Deployments of tests. */
import type { ChangedDeployment } from "../../../src/protocol/deployment.ts";
import type { Client } from "./client.ts";
import { unique } from "./world.ts";

/** Creates a deployment of the client's account. */
export const newDeployment = (
  client: Client,
  body: { model: string; name?: string; [field: string]: unknown },
): Promise<ChangedDeployment> =>
  client.ok<ChangedDeployment>("POST", "/v1/deployments", { name: unique("deployment"), ...body });
