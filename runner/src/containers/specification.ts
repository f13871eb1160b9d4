/** Plans of containers: the values that a container starts with, and the jobs that can share it. */
import type { Egress } from "../../../src/protocol/egress.ts";
import type { ContainerInterface, Job, JobHardware } from "../../../src/protocol/runner.ts";
import type { Lease } from "../devices/ledger.ts";
import type { JobOrder } from "../jobs/executor.ts";
import type { WeightsRequest } from "../weights/weights.ts";
import type { LeftContainer } from "./adoption.ts";

export interface Specification extends WeightsRequest {
  /**
   * `keys.container` of its jobs, which is equal only if all that a container is started with is: its
   * version, which fixes image, interface, egress, weights and concurrency, its variables and its class.
   */
  key: string;
  model: Job["model"];
  interface: ContainerInterface;
  /** The class whose runtime and share of the machine it has. */
  hardware: JobHardware;
  egress: Egress;
  variables: Record<string, string>;
  maxConcurrency: number;
  /** How long the server may refuse connections; undefined: as long as the start may take. */
  listenSeconds?: number | undefined;
}

export const specify = ({
  keys,
  model,
  image,
  hardware,
  egress,
  variables,
  limits,
  interface: server,
  weights = [],
}: JobOrder): Specification => ({
  key: keys.container,
  model,
  image,
  keys,
  weights,
  interface: server,
  hardware,
  egress,
  variables,
  maxConcurrency: limits.max_concurrency,
  listenSeconds: limits.listen_seconds,
});

/** Returns the specification of an adopted container, without the fields that only a start needs. */
export const specificationOf = ({
  model,
  image,
  keys,
  interface: server,
  hardware,
  egress,
  max_concurrency,
}: LeftContainer): Specification => ({
  key: keys.container,
  model,
  image,
  keys,
  weights: [],
  interface: server,
  hardware,
  egress,
  variables: {},
  maxConcurrency: max_concurrency,
});

/** The properties of a container that is about to be made. */
export interface ContainerPlan {
  id: string;
  specification: Specification;
  lease: Lease;
  /** Resolves when the containers whose GPUs and memory this one takes over have ended. */
  room: Promise<unknown>;
  /** Set for an adopted container. */
  left?: LeftContainer;
  /** Whether it is started for a capacity claim. */
  isClaimed?: boolean;
}
