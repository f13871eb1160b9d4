/** What a container gets of this machine, in Docker's words. */
import type Dockerode from "dockerode";
import type { Sandbox } from "../options.ts";
import type { Shares } from "./shares.ts";

export interface HostConfigOptions {
  sandbox: Sandbox;
  shares: Shares;
  /** Whether the storage driver has a bound of its own. */
  quota: boolean;
  network: string;
  /** Of those Docker asks on behalf of the container. */
  dns: readonly string[];
  /** What HOST_NAME means. */
  hostAddress: string;
  port: number;
  gpus: boolean;
}

/** The name by which containers know the machine they run on. */
export const HOST_NAME = "host.docker.internal";

export function hostConfig(options: HostConfigOptions): Dockerode.HostConfig {
  const { sandbox, shares, quota, network, dns, hostAddress, port, gpus } = options;
  return {
    NetworkMode: network,
    ExtraHosts: [`${HOST_NAME}:${hostAddress}`],
    PortBindings: { [`${port}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: "" }] },
    Dns: [...dns],
    CapDrop: ["ALL"],
    CapAdd: [...sandbox.capabilities],
    SecurityOpt: ["no-new-privileges"],
    ReadonlyRootfs: sandbox.readonly_rootfs,
    Memory: shares.memory_bytes,
    // No swap beside the memory: a model that swaps takes the whole machine with it.
    MemorySwap: shares.memory_bytes,
    NanoCpus: Math.round(shares.cpus * 1e9),
    ...(quota ? { StorageOpt: { size: String(shares.disk_bytes) } } : {}),
    ...(sandbox.runtime === undefined ? {} : { Runtime: sandbox.runtime }),
    PidsLimit: sandbox.pids,
    ShmSize: sandbox.shm_bytes,
    LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "2" } },
    DeviceRequests: gpus ? [{ Driver: "", Count: -1, Capabilities: [["gpu"]] }] : [],
  };
}
