/**
 * The bound on what a container writes. Few of Docker's storage drivers have one of their own, and
 * none counts volumes that an image declares: so each container is looked at by a timer, and one
 * that has written too much is ended. Until the next look it may go beyond.
 */
import type Dockerode from "dockerode";
import { z } from "zod";
import { external } from "../../containers/failure.ts";
import { messageOf } from "../../control-plane/error.ts";
import { gigabytes } from "../../files/transfer.ts";
import type { Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import type { DockerContainer } from "./docker-container.ts";
import { ignoreStatus } from "./ignore-status.ts";

/** Docker adds them up anew each time. */
const SIZED: Dockerode.ContainerInspectOptions & { size: boolean } = { size: true };

const sized = z.object({
  SizeRw: z.number().default(0),
  Mounts: z.array(z.object({ Type: z.string(), Name: z.string().optional() })).default([]),
});

export interface DiskOptions {
  docker: Dockerode;
  /** Bytes of one container. */
  maxBytes: number;
  /** Between two looks, ms. */
  intervalMs: number;
  running: () => Iterable<DockerContainer>;
  log: Log;
}

/** @returns what ends it */
export function watchDisk(options: DiskOptions): () => void {
  const { maxBytes, intervalMs, running, log } = options;
  return repeat(intervalMs, async () => {
    for (const container of running()) {
      try {
        const bytes = await writtenBytes(options.docker, container.id);
        if (bytes > maxBytes) await container.killFor(diskExceeded(maxBytes));
      } catch (error) {
        log.warn("it cannot be seen what a container has written", { error: messageOf(error) });
      }
    }
  });
}

/** To its own layer and to its volumes, bytes. */
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
    `the container wrote more than the ${gigabytes(maxBytes)} GB of disk that it has: the model is to ` +
      "remove what it needs no more, or the operator gives it more (--disk-gb)",
  );

/** What a storage driver says that has no bound of its own. */
export const isQuotaUnsupported = (error: unknown): boolean =>
  /storage-opt|pquota|quota/i.test(messageOf(error));
