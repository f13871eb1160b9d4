/** How much memory a container uses, as `docker stats` shows it. */
import type Dockerode from "dockerode";
import { z } from "zod";

/** Without waiting for a second measurement, which only the use of processors needs. */
const NOW = { stream: false, "one-shot": true } as const;

const measured = z.object({
  memory_stats: z.object({
    usage: z.number(),
    /** Of files that were read, and that the kernel drops when memory is short: with cgroups v1, and v2. */
    stats: z.object({
      total_inactive_file: z.number().optional(),
      inactive_file: z.number().default(0),
    }),
  }),
});

/** @throws if Docker does not say it before the signal, as of a container that has ended */
export async function usedMemory(
  container: Dockerode.Container,
  abortSignal: AbortSignal,
): Promise<number> {
  const options = { ...NOW, abortSignal };
  const { memory_stats } = measured.parse(await container.stats(options));
  const { total_inactive_file, inactive_file } = memory_stats.stats;
  return memory_stats.usage - (total_inactive_file ?? inactive_file);
}
