/** What a container gets of this machine, in Docker's words. */
import type Dockerode from "dockerode";
import type { Sandbox } from "./options.ts";

export interface HostConfigOptions {
  sandbox: Sandbox;
  network: string;
  /** What HOST_NAME means. */
  hostAddress: string;
  port: number;
  gpus: boolean;
}

/** The name by which containers know the machine they run on. */
export const HOST_NAME = "host.docker.internal";

export function hostConfig(options: HostConfigOptions): Dockerode.HostConfig {
  const { sandbox, network, hostAddress, port, gpus } = options;
  return {
    NetworkMode: network,
    ExtraHosts: [`${HOST_NAME}:${hostAddress}`],
    PortBindings: { [`${port}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: "" }] },
    Dns: [...sandbox.dns],
    CapDrop: ["ALL"],
    CapAdd: [...sandbox.capabilities],
    SecurityOpt: ["no-new-privileges"],
    ReadonlyRootfs: sandbox.readonly_rootfs,
    Memory: sandbox.memory_bytes,
    // No swap beside the memory: a model that swaps takes the whole machine with it.
    MemorySwap: sandbox.memory_bytes,
    NanoCpus: Math.round(sandbox.cpus * 1e9),
    PidsLimit: sandbox.pids,
    ShmSize: sandbox.shm_bytes,
    LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "2" } },
    DeviceRequests: gpus ? [{ Driver: "", Count: -1, Capabilities: [["gpu"]] }] : [],
  };
}
