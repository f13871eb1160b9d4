/** Which jobs can share a container. */
import type { Egress } from "../../../src/protocol/egress.ts";
import type { ContainerInterface, Image, Job } from "../../../src/protocol/runner.ts";
import { referenceOf } from "../engines/engine.ts";
import type { RunnableJob } from "../jobs/executor.ts";

/** What jobs must have in common to share a container. */
export interface Specification {
  /** Equal if all fields below but the model are. */
  key: string;
  /** `keys.container` of its jobs: whose runs may share it. */
  warmKey: string;
  model: Job["model"];
  image: Image;
  interface: ContainerInterface;
  egress: Egress;
  variables: Record<string, string>;
  maxConcurrency: number;
}

/** Different variables need a different container, since they are its environment. */
export function specify({
  keys,
  model,
  image,
  egress,
  variables,
  limits,
  interface: server,
}: RunnableJob): Specification {
  const { max_concurrency: maxConcurrency } = limits;
  const sorted = Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1));
  const { container: warmKey } = keys;
  const reference = referenceOf(image);
  const key = JSON.stringify([warmKey, server, reference, egress, maxConcurrency, sorted]);
  return { key, warmKey, model, image, interface: server, egress, variables, maxConcurrency };
}
