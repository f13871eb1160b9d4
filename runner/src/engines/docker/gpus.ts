/** Which containers are given the GPUs of this machine. */
import { z } from "zod";
import type { DockerOptions } from "../options.ts";
import type { GpuNeed } from "./image.ts";

/** GET /info: NVIDIA's toolkit is there as a runtime, or by what it has listed for CDI. */
const info = z.object({
  Runtimes: z.record(z.string(), z.unknown()).nullish(),
  DiscoveredDevices: z.array(z.object({ ID: z.string() })).nullish(),
});

/** What needs them and cannot have them fails, and says so; what could do without is to start. */
export function usesGpus(
  choice: NonNullable<DockerOptions["gpus"]>,
  wish: GpuNeed,
  docker: unknown,
): boolean {
  if (choice !== "image") return choice === "always";
  return wish === "needed" || (wish === "welcome" && hasNvidia(docker));
}

function hasNvidia(docker: unknown): boolean {
  const { Runtimes, DiscoveredDevices } = info.safeParse(docker).data ?? {};
  const listed = DiscoveredDevices?.some(({ ID }) => ID.startsWith("nvidia.com/gpu"));
  return "nvidia" in (Runtimes ?? {}) || listed === true;
}
