/** Pages and details of runners. */
import type { RunnerDetail } from "../../../src/protocol/fleet.ts";
import type { FakeRunner } from "./runner.ts";
import { operator } from "./world.ts";

export const detail = ({ id }: FakeRunner) =>
  operator.ok<RunnerDetail>("GET", `/v1/operator/runners/${id}`);

export const gpu = (n: number, holder: string | null, lost?: true) => ({
  id: `GPU-${n}`,
  name: "NVIDIA L40S",
  memory_gb: 45,
  holder,
  ...(lost && { lost }),
});
