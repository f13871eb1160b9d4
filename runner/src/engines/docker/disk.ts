/**
 * Enforces the limit on what a container writes. Few of Docker's storage drivers support quotas,
 * and none counts the volumes that an image declares. So each container is checked regularly and
 * killed if it has written too much; between checks it may exceed the limit.
 */
import type Dockerode from "dockerode";
import { z } from "zod";
import { external } from "../../../../src/run/failure.ts";
import { gigabytes } from "../../files/transfer.ts";
import { messageOf } from "../../lib/error.ts";
import type { Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import type { DockerContainer } from "./docker-container.ts";
import { ignoreStatus } from "./errors.ts";

/** Docker computes the size for each request. */
const SIZED: Dockerode.ContainerInspectOptions & { size: boolean } = { size: true };

const sized = z.object({
  SizeRw: z.number().default(0),
  Mounts: z.array(z.object({ Type: z.string(), Name: z.string().optional() })).default([]),
});

export interface DiskOptions {
  docker: Dockerode;
  /** The limit per container. */
  maxBytes: number;
  /** The pause between two checks. */
  intervalMs: number;
  running: () => Iterable<DockerContainer>;
  log: Log;
}

/** @returns a function that ends it */
export function watchDisk(options: DiskOptions): () => void {
  const { maxBytes, intervalMs, running, log } = options;
  return repeat(intervalMs, async () => {
    for (const container of running()) {
      try {
        const bytes = await writtenBytes(options.docker, container.handle.id);
        if (bytes > maxBytes) await container.killFor(diskExceeded(maxBytes));
      } catch (error) {
        log.warn("could not check a container's disk usage", { error: messageOf(error) });
      }
    }
  });
}

/** Returns the bytes that the container has written to its own layer and its volumes. */
async function writtenBytes(docker: Dockerode, id: string): Promise<number> {
  const inspected = await ignoreStatus([404], docker.getContainer(id).inspect(SIZED));
  const { SizeRw, Mounts } = sized.parse(inspected ?? {});
  const names = new Set(Mounts.flatMap(({ Type, Name }) => (Type === "volume" && Name) || []));
  if (names.size === 0) return SizeRw;
  const { Volumes } = volumes.parse(await docker.df());
  const volumesUsed = Volumes?.filter(({ Name }) => names.has(Name)) ?? [];
  return volumesUsed.reduce(
    (sum, { UsageData }) => sum + Math.max(UsageData?.Size ?? 0, 0),
    SizeRw,
  );
}

const volumes = z.object({
  Volumes: z
    .array(z.object({ Name: z.string(), UsageData: z.object({ Size: z.number() }).nullish() }))
    .nullish(),
});

const diskExceeded = (maxBytes: number) =>
  external(
    `the container wrote more than its ${gigabytes(maxBytes)} GB of disk. Have the model ` +
      "remove files that it no longer needs, or ask the operator for more (--disk-gb)",
  );

/** Whether the storage driver does not support quotas. */
export const isQuotaUnsupported = (error: unknown): boolean =>
  /storage-opt|pquota|quota/i.test(messageOf(error));
