/** Which jobs can share a container. */
import type { Egress } from "../../../src/protocol/egress.ts";
import type { ContainerInterface, Job, JobHardware } from "../../../src/protocol/runner.ts";
import { referenceOf } from "../engines/engine.ts";
import type { RunnableJob } from "../jobs/executor.ts";
import type { WeightsRequest } from "../weights/weights.ts";

/** What jobs must have in common to share a container. */
export interface Specification extends WeightsRequest {
  /** Equal if all fields below but the model are. */
  key: string;
  /** `keys.container` of its jobs: whose runs may share it. */
  warmKey: string;
  model: Job["model"];
  interface: ContainerInterface;
  /** The class whose runtime and share of the machine it has. */
  hardware: JobHardware;
  egress: Egress;
  variables: Record<string, string>;
  maxConcurrency: number;
}

/** Different variables need a different container, since they are its environment. */
export function specify({
  keys,
  model,
  image,
  hardware,
  egress,
  variables,
  limits,
  interface: server,
  weights = [],
}: RunnableJob): Specification {
  const { max_concurrency: maxConcurrency } = limits;
  const sorted = Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1));
  const { container: warmKey } = keys;
  const reference = referenceOf(image);
  // Without their URLs, which are others each time.
  const mounted = weights.map((one) => [one.target, one.kind === "oci" ? one.manifest : one.id]);
  const parts = [warmKey, server, reference, egress, maxConcurrency, sorted, mounted];
  const key = JSON.stringify(parts);
  return {
    key,
    warmKey,
    model,
    image,
    keys,
    weights,
    interface: server,
    hardware,
    egress,
    variables,
    maxConcurrency,
  };
}
