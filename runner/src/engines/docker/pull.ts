/** Pulls an image by its digest, and says how far it is. */
import type Dockerode from "dockerode";
import type { Image } from "../../../../src/protocol/runner.ts";
import { messageOf } from "../../control-plane/error.ts";
import { backoff } from "../../lib/retry.ts";
import { sleep } from "../../lib/wait.ts";
import { type ReportProgress, referenceOf } from "../engine.ts";
import { credentialsFor } from "./credentials.ts";
import { NO_MANIFEST, noManifest, pullFailure } from "./pull-failure.ts";
import { PullProgress, pullLine } from "./pull-progress.ts";

const ATTEMPTS = 4;
const DELAYS = { base: 1_000, max: 8_000 };

const SERVER_ERROR = /unexpected HTTP status: 500/i;

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
      const { failure, final } = pullFailure(referenceOf(image), error);
      if (final) throw failure;
      if (failures === ATTEMPTS) {
        throw (await isUnknownDigest(docker, image, error, signal)) ? noManifest(image) : failure;
      }
      if (!(await sleep(backoff(failures, DELAYS), signal))) signal.throwIfAborted();
    }
  }
}

/**
 * Docker's own registry answers 500 when it is asked for an image by the digest of something else
 * that it has, such as an image's id. One that knows what it has not got is not in trouble.
 */
async function isUnknownDigest(
  docker: Dockerode,
  { repository }: Image,
  error: unknown,
  signal: AbortSignal,
): Promise<boolean> {
  if (!SERVER_ERROR.test(messageOf(error))) return false;
  const nothing = { repository, digest: `sha256:${"0".repeat(64)}` };
  const answer = await attempt(docker, nothing, () => {}, signal).catch(messageOf);
  signal.throwIfAborted();
  return answer !== undefined && NO_MANIFEST.test(answer);
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
    (event) => progress.add(pullLine.catch({}).parse(event)),
  );
  await promise;
}
