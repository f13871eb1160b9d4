/** Values that the tests of scheduling share. */
import type { WaitingJob } from "../../../src/protocol/queue.ts";

/** @param changes if they have a class and no pool, the pool has the name of the class */
export const waitingJob = (
  changes: Partial<WaitingJob> & Pick<WaitingJob, "object_id" | "user_id">,
): WaitingJob => {
  const hardware = changes.hardware ?? "cpu";
  return {
    pool: hardware,
    hardware,
    gpus: 0,
    priority: "normal",
    model: "ada/story:3",
    model_id: "019a0000-0000-7000-8000-000000000003",
    model_owner_id: "019a0000-0000-7000-8000-000000000005",
    image: "registry.example.com/ada/story@sha256:aa",
    container_key: "c",
    max_concurrency: 1,
    run_limit_ms: 60_000,
    ...changes,
  };
};
