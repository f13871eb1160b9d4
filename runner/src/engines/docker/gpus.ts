/** Decides which containers get this machine's GPUs. */
import { z } from "zod";
import type { DockerOptions } from "../options.ts";
import type { GpuNeed } from "./image.ts";

/** GET /info: NVIDIA's toolkit shows as a runtime or as CDI devices. */
const info = z.object({
  Runtimes: z.record(z.string(), z.unknown()).nullish(),
  DiscoveredDevices: z.array(z.object({ ID: z.string() })).nullish(),
});

/**
 * An image that needs GPUs is given them even if there are none, so that it fails with a clear
 * error; an image that can do without starts.
 */
export function usesGpus(
  choice: NonNullable<DockerOptions["gpus"]>,
  wish: GpuNeed,
  docker: unknown,
): boolean {
  if (choice !== "image") return choice === "always";
  return wish === "needed" || (wish === "welcome" && hasNvidia(docker));
}

/** @param docker its GET /info */
export function hasNvidia(docker: unknown): boolean {
  const { Runtimes, DiscoveredDevices } = info.safeParse(docker).data ?? {};
  const listed = DiscoveredDevices?.some(({ ID }) => ID.startsWith("nvidia.com/gpu"));
  return "nvidia" in (Runtimes ?? {}) || listed === true;
}
