/** A container's resources and restrictions, as Docker's HostConfig. */
import type Dockerode from "dockerode";
import type { Share } from "../../devices/share.ts";
import type { Mount } from "../engine.ts";
import type { Sandbox } from "../options.ts";

export interface HostConfigOptions {
  sandbox: Sandbox;
  share: Share;
  /** The bytes that the container may write, enforced by the storage driver; 0: the driver sets no limit. */
  quota_bytes: number;
  network: string;
  /** The DNS servers that Docker queries for the container. */
  dns: readonly string[];
  /** The address of HOST_NAME. */
  hostAddress: string;
  port: number;
  deviceRequests: Dockerode.DeviceRequest[];
  mounts: readonly Mount[];
}

/** The name of the host machine inside containers. */
export const HOST_NAME = "host.docker.internal";

export function hostConfig(options: HostConfigOptions): Dockerode.HostConfig {
  const { sandbox, share, quota_bytes, network, dns, hostAddress, port, mounts } = options;
  return {
    NetworkMode: network,
    ExtraHosts: [`${HOST_NAME}:${hostAddress}`],
    PortBindings: { [`${port}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: "" }] },
    Dns: [...dns],
    CapDrop: ["ALL"],
    CapAdd: [...sandbox.capabilities],
    SecurityOpt: ["no-new-privileges"],
    ReadonlyRootfs: sandbox.readonly_rootfs,
    Memory: share.memory_bytes,
    // No swap: a model that swaps slows down the whole machine.
    MemorySwap: share.memory_bytes,
    NanoCpus: Math.round(share.cpus * 1e9),
    ...(quota_bytes > 0 ? { StorageOpt: { size: String(quota_bytes) } } : {}),
    ...(sandbox.runtime === undefined ? {} : { Runtime: sandbox.runtime }),
    PidsLimit: sandbox.pids,
    ShmSize: share.shm_bytes,
    LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "2" } },
    // Mounts, unlike Binds, make no folder for a missing source, and accept any character.
    Mounts: mounts.map(({ source: Source, target: Target }) => {
      return { Type: "bind", Source, Target, ReadOnly: true };
    }),
    DeviceRequests: options.deviceRequests,
  };
}
