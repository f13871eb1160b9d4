/** Pulls an image by its digest and reports the progress. */
import type Dockerode from "dockerode";
import { retry } from "../../../../src/lib/retry.ts";
import type { Image } from "../../../../src/protocol/runner.ts";
import { messageOf } from "../../control-plane/error.ts";
import { type ReportProgress, referenceOf } from "../engine.ts";
import { credentialsFor } from "./credentials.ts";
import { NO_MANIFEST, noManifest, pullFailure } from "./pull-failure.ts";
import { PullProgress, pullLine } from "./pull-progress.ts";

const RETRY = { attempts: 4, baseMs: 1_000, maxMs: 8_000 };

const SERVER_ERROR = /unexpected HTTP status: 500/i;

export async function pullImage(
  docker: Dockerode,
  image: Image,
  report: ReportProgress,
  signal: AbortSignal,
): Promise<void> {
  const reference = referenceOf(image);
  try {
    await retry(() => attempt(docker, image, report, signal), {
      ...RETRY,
      signal,
      isRetryable: (error) => !signal.aborted && !pullFailure(reference, error).final,
    });
  } catch (error) {
    signal.throwIfAborted();
    const { failure, final } = pullFailure(reference, error);
    if (final) throw failure;
    throw (await isUnknownDigest(docker, image, error, signal)) ? noManifest(image) : failure;
  }
}

/**
 * Docker's own registry responds with 500 to the digest of something other than an image, such as
 * an image's id. A registry that reports an unknown digest correctly works, so the error is about
 * this digest.
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
