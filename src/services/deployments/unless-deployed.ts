/** Keeps what the deployments of its owner run. */
import { conflict } from "../../errors/errors.ts";
import { failedOn } from "../../storage/database.ts";
import { findDeployedBy } from "../../storage/deployments/deployments.ts";
import type { Services } from "../services.ts";

/**
 * @param what "The model 'ada/story'"
 * @param number the version that is deleted; undefined: the whole model
 * @throws ProblemError conflict if a deployment of the model's owner runs what is deleted
 */
export async function unlessDeployed<Result>(
  { db }: Services,
  what: string,
  modelId: string,
  deleting: Promise<Result>,
  number?: number,
): Promise<Result> {
  try {
    return await deleting;
  } catch (error) {
    if (!failedOn(error, "FOREIGN KEY", "releases.version_number")) throw error;
    const by = await findDeployedBy(db, modelId, number);
    const named = by.map(({ owner, name }) => `'${owner}/${name}'`).join(", ");
    throw conflict(
      `${what} is run by ${named || "a deployment"}. Delete the deployment, or have it run another version, first.`,
    );
  }
}
