/** GPUs of containers: a container is given its own GPUs and kept from all others. */
import type Dockerode from "dockerode";
import { z } from "zod";
import type { Device } from "../../devices/device.ts";

/** GET /info, as far as it is about GPUs. */
const info = z.object({
  /** NVIDIA's toolkit is registered as a runtime. */
  Runtimes: z.record(z.string(), z.unknown()).nullish(),
  /** Docker 28.2 and later list the devices that CDI describes. */
  DiscoveredDevices: z.array(z.object({ ID: z.string() })).nullish(),
  /** Podman has it. */
  BuildahVersion: z.string().nullish(),
});

export interface GpuAccess {
  requests: Dockerode.DeviceRequest[];
  /** Takes precedence over the image's and the model's own. */
  environment: Record<string, string>;
}

const CDI_KIND = "nvidia.com/gpu=";

/**
 * `void` gives a container no GPUs, as if NVIDIA's runtime were missing. That runtime, which may be Docker's
 * default, gives a container the GPUs in NVIDIA_VISIBLE_DEVICES, and CUDA images set it to `all`.
 */
const NOTHING = "void";

/**
 * NVIDIA's runtime adds these as well where a container with GPUs asks for them, in its image for
 * instance: InfiniBand adapters, which no firewall sees, the switches that all GPUs share, channels
 * to the memory of GPUs in other machines, and the devices of GPUDirect Storage and GDRCopy.
 */
const NO_OTHERS = {
  NVIDIA_MOFED: "disabled",
  NVIDIA_NVSWITCH: "disabled",
  NVIDIA_GDS: "disabled",
  NVIDIA_GDRCOPY: "disabled",
  NVIDIA_IMEX_CHANNELS: NOTHING,
};

/** @param docker its GET /info */
export function gpuAccess(devices: readonly Device[], docker: unknown): GpuAccess {
  const access = (visible: string, ...requests: Dockerode.DeviceRequest[]): GpuAccess => {
    return { requests, environment: { NVIDIA_VISIBLE_DEVICES: visible, ...NO_OTHERS } };
  };
  if (devices.length === 0) return access(NOTHING);
  const ids = devices.map(({ id }) => id);
  if (devices.some(({ pretend }) => pretend)) return access(ids.join(","));
  const named = cdiNames(devices, docker);
  if (named) return access(NOTHING, { Driver: "cdi", DeviceIDs: named });
  // The driver is named, since with AMD's tools another one would answer for GPUs.
  const request = { Driver: "nvidia", DeviceIDs: ids, Capabilities: [["gpu"]] };
  return access(ids.join(","), request);
}

/** Returns the CDI names; undefined unless each device has one. */
export function cdiNames(devices: readonly Device[], docker: unknown): string[] | undefined {
  const { DiscoveredDevices, BuildahVersion } = info.safeParse(docker).data ?? {};
  // Podman ignores any other request, and does not list its CDI devices.
  if (BuildahVersion) return devices.map(({ id }) => CDI_KIND + id);
  const listed = new Set(DiscoveredDevices?.map(({ ID }) => ID));
  // The description may be older than the list, and then an index may mean another GPU.
  const names = devices.map(({ id, index }) =>
    [id, index].map((name) => CDI_KIND + name).find((name) => listed.has(name)),
  );
  return names.every((name) => name !== undefined) ? names : undefined;
}

export const hasNvidiaRuntime = (docker: unknown): boolean =>
  "nvidia" in (info.safeParse(docker).data?.Runtimes ?? {});

/** Whether Docker can give containers any of NVIDIA's GPUs. */
export function hasNvidia(docker: unknown): boolean {
  const { DiscoveredDevices } = info.safeParse(docker).data ?? {};
  const listed = DiscoveredDevices?.some(({ ID }) => ID.startsWith(CDI_KIND));
  return hasNvidiaRuntime(docker) || listed === true;
}
