/**
 * The names under which runners get repositories of the deployment's own registry: they have the model's id,
 * which a rename does not change, and no host, since each runner has its own address of the deployment.
 */
const PREFIX = "auspex/models/";

const MODEL = new RegExp(`^${PREFIX}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`);

export const ownRepository = (modelId: string): string => `${PREFIX}${modelId}`;

/** Returns the model's id; undefined for a repository of another registry. */
export const modelOfRepository = (repository: string): string | undefined =>
  MODEL.exec(repository)?.[1];
