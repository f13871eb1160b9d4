/**
 * Why an image cannot be pulled, for whoever can fix it. Docker's message contains addresses and
 * paths of the machine: it is the cause, for the log.
 */
import type { Image } from "../../../../src/protocol/runner.ts";
import { external, type Failure, internal } from "../../containers/failure.ts";
import { messageOf } from "../../control-plane/error.ts";
import { referenceOf } from "../engine.ts";

export const NO_MANIFEST = /manifest unknown|not found/i;
const NO_SUCH_DIGEST =
  "the registry has no image with this digest under this name. Push the image, and publish the " +
  "digest that docker push prints rather than the id that docker images shows: " +
  "docker inspect --format '{{index .RepoDigests 0}}' prints it";

/** Errors that a retry does not fix; the first match counts. */
const FINAL: [pattern: RegExp, why: string][] = [
  [
    /no matching manifest/i,
    `it is not available for this hardware's architecture (${process.arch}): build it for that (docker build --platform)`,
  ],
  [
    // A registry that requires a login says this of missing repositories too.
    /denied|unauthorized|authentication|no basic auth|repository name not known|name unknown/i,
    "the registry has no such repository, or the runner may not read it: check the repository's name; if it is private, the operator must run docker login on the runner's machine",
  ],
  [NO_MANIFEST, NO_SUCH_DIGEST],
  [/invalid reference/i, "the image name is invalid"],
];

export interface PullFailure {
  failure: Failure;
  /** A retry does not fix it. */
  final: boolean;
}

export const noManifest = (image: Image): Failure =>
  external(text(referenceOf(image), NO_SUCH_DIGEST));

export function pullFailure(reference: string, error: unknown): PullFailure {
  const message = messageOf(error);
  const options = { cause: error };
  const [, why] = FINAL.find(([pattern]) => pattern.test(message)) ?? [];
  if (why !== undefined) return { failure: external(text(reference, why), options), final: true };
  const trouble = /no space left/i.test(message)
    ? "the disk of the runner's machine is full; the operator must free space"
    : "the registry could not be read; see the runner's log";
  return { failure: internal(text(reference, trouble), options), final: false };
}

const text = (reference: string, why: string) => `${reference} cannot be pulled: ${why}`;
