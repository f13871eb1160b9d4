/** A container's resources and restrictions, as Docker's HostConfig. */
import type Dockerode from "dockerode";
import type { Mount } from "../engine.ts";
import type { Sandbox } from "../options.ts";
import type { Shares } from "./shares.ts";

export interface HostConfigOptions {
  sandbox: Sandbox;
  shares: Shares;
  /** Whether the storage driver supports quotas. */
  quota: boolean;
  network: string;
  /** The DNS servers that Docker queries for the container. */
  dns: readonly string[];
  /** The address of HOST_NAME. */
  hostAddress: string;
  port: number;
  gpus: boolean;
  mounts: readonly Mount[];
}

/** The name of the host machine inside containers. */
export const HOST_NAME = "host.docker.internal";

export function hostConfig(options: HostConfigOptions): Dockerode.HostConfig {
  const { sandbox, shares, quota, network, dns, hostAddress, port, gpus, mounts } = options;
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
    // No swap: a model that swaps slows down the whole machine.
    MemorySwap: shares.memory_bytes,
    NanoCpus: Math.round(shares.cpus * 1e9),
    ...(quota ? { StorageOpt: { size: String(shares.disk_bytes) } } : {}),
    ...(sandbox.runtime === undefined ? {} : { Runtime: sandbox.runtime }),
    PidsLimit: sandbox.pids,
    ShmSize: sandbox.shm_bytes,
    LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "2" } },
    // Unlike Binds, it makes no folder of what is not there, and takes any character.
    Mounts: mounts.map(({ source: Source, target: Target }) => {
      return { Type: "bind", Source, Target, ReadOnly: true };
    }),
    DeviceRequests: gpus ? [{ Driver: "", Count: -1, Capabilities: [["gpu"]] }] : [],
  };
}
