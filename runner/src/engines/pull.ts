/** Pulls an image by its digest, and says how far it is. */
import type Dockerode from "dockerode";
import { z } from "zod";
import type { Image } from "../../../src/protocol/runner.ts";
import { external, internal } from "../containers/failure.ts";
import { sleep } from "../containers/wait.ts";
import { backoff } from "../retry.ts";
import { credentialsFor } from "./credentials.ts";
import { type ReportProgress, referenceOf } from "./engine.ts";
import { PullProgress } from "./pull-progress.ts";

const ATTEMPTS = 4;
const DELAYS = { base: 1_000, max: 8_000 };

/** What trying again does not mend. */
const FINAL = /not found|unknown|denied|unauthorized|invalid reference|no matching manifest/i;

const line = z.object({
  id: z.string().optional(),
  status: z.string().optional(),
  error: z.string().optional(),
  progressDetail: z.object({ current: z.number(), total: z.number() }).partial().optional(),
});
export type PullLine = z.infer<typeof line>;

export async function pullImage(
  docker: Dockerode,
  image: Image,
  report: ReportProgress,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt(docker, image, report, signal);
    } catch (error) {
      signal.throwIfAborted();
      const message = error instanceof Error ? error.message : String(error);
      const text = `${referenceOf(image)} cannot be pulled: ${message}`;
      if (FINAL.test(message)) throw external(text, { cause: error });
      if (failures === ATTEMPTS) throw internal(text, { cause: error });
      if (!(await sleep(backoff(failures, DELAYS), signal))) signal.throwIfAborted();
    }
  }
}

async function attempt(
  docker: Dockerode,
  image: Image,
  report: ReportProgress,
  signal: AbortSignal,
): Promise<void> {
  const progress = new PullProgress(report);
  const stream = await docker.pull(referenceOf(image), {
    authconfig: await credentialsFor(image.repository),
    abortSignal: signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  docker.modem.followProgress(
    stream,
    (error) => (error ? reject(error) : resolve()),
    (event) => progress.add(line.catch({}).parse(event)),
  );
  await promise;
}
