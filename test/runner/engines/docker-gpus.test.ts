/** The options that give a container its own GPUs only. */
import { describe, expect, it, test } from "vitest";
import type { Device } from "../../../runner/src/devices/device.ts";
import { hostConfig } from "../../../runner/src/engines/docker/container-creator.ts";
import { gpuAccess } from "../../../runner/src/engines/docker/gpus.ts";
import { DEFAULT_SANDBOX } from "../../../runner/src/engines/options.ts";

const gpu = (n: number): Device => ({
  id: `GPU-000${n}`,
  index: String(n),
  name: "NVIDIA L40S",
  memory_gb: 45,
});
const instance: Device = { id: "MIG-0007", index: "3:0", name: "MIG 1g.10gb", memory_gb: 9.5 };

const runtime = { Runtimes: { runc: {}, nvidia: {} } };
const listing = (...names: string[]) => ({
  ...runtime,
  DiscoveredDevices: names.map((ID) => ({ Source: "cdi", ID })),
});

/** Returns the variables that also hide network adapters, switches and channels, which images can ask for. */
const visible = (NVIDIA_VISIBLE_DEVICES: string) => ({
  NVIDIA_VISIBLE_DEVICES,
  NVIDIA_MOFED: "disabled",
  NVIDIA_NVSWITCH: "disabled",
  NVIDIA_GDS: "disabled",
  NVIDIA_GDRCOPY: "disabled",
  NVIDIA_IMEX_CHANNELS: "void",
});

describe("a container with GPUs", () => {
  const byId = {
    requests: [{ Driver: "nvidia", DeviceIDs: ["GPU-0001", "GPU-0002"], Capabilities: [["gpu"]] }],
    environment: visible("GPU-0001,GPU-0002"),
  };

  it("a container gets GPUs by ID where Docker has not listed them", () => {
    const two = [gpu(1), gpu(2)];
    for (const docker of [runtime, {}, undefined, listing("nvidia.com/gpu=all")])
      expect(gpuAccess(two, docker)).toEqual(byId);
    // Docker has listed only one of the two.
    expect(gpuAccess(two, listing("nvidia.com/gpu=GPU-0001"))).toEqual(byId);
    expect(gpuAccess(two, listing("vendor.com/net=1", "vendor.com/net=2"))).toEqual(byId);
  });

  it("a container gets GPUs by CDI where Docker has listed exactly these", () => {
    const cdi = (...names: string[]) => ({
      requests: [{ Driver: "cdi", DeviceIDs: names.map((name) => `nvidia.com/gpu=${name}`) }],
      // `void` keeps NVIDIA's runtime from adding GPUs to those that CDI has mounted.
      environment: visible("void"),
    });
    const byUuid = listing("nvidia.com/gpu=GPU-0001", "nvidia.com/gpu=1", "nvidia.com/gpu=2");
    expect(gpuAccess([gpu(1)], byUuid)).toEqual(cdi("GPU-0001"));
    expect(gpuAccess([gpu(2)], byUuid)).toEqual(cdi("2"));
    expect(gpuAccess([instance], listing("nvidia.com/gpu=3:0"))).toEqual(cdi("3:0"));
    expect(gpuAccess([instance], listing("nvidia.com/gpu=MIG-0007"))).toEqual(cdi("MIG-0007"));
    // Podman lists nothing, and accepts only CDI.
    const podman = { BuildahVersion: "1.41.0", Runtimes: { crun: {} } };
    expect(gpuAccess([gpu(1), gpu(2)], podman)).toEqual(cdi("GPU-0001", "GPU-0002"));
  });

  it("a container of pretended GPUs only has their names", () => {
    const pretended = [gpu(1), gpu(2)].map((one): Device => ({ ...one, pretend: true }));
    expect(gpuAccess(pretended, runtime)).toEqual({
      requests: [],
      environment: visible("GPU-0001,GPU-0002"),
    });
  });
});

test("a container without GPUs gets none, whatever Docker has", () => {
  const none = { requests: [], environment: visible("void") };
  for (const docker of [runtime, {}, listing("nvidia.com/gpu=all")])
    expect(gpuAccess([], docker)).toEqual(none);
});

test("GPUs are never given by their number", () => {
  const host = hostConfig({
    sandbox: DEFAULT_SANDBOX,
    share: { memory_bytes: 1e9, cpus: 1, shm_bytes: 1e8 },
    quota_bytes: 0,
    network: "n",
    dns: [],
    hostAddress: "127.0.0.1",
    port: 5_000,
    deviceRequests: gpuAccess([gpu(1)], runtime).requests,
    mounts: [],
  });
  expect(host.DeviceRequests).toEqual([expect.not.objectContaining({ Count: expect.anything() })]);
  expect(host).toMatchObject({ Memory: 1e9, ShmSize: 1e8, NanoCpus: 1e9 });
});
