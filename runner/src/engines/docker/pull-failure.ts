/**
 * Why an image cannot be had, in words of whoever can mend it. What Docker says names addresses
 * and paths of the machine and its network: it is the cause, for the log.
 */
import type { Image } from "../../../../src/protocol/runner.ts";
import { external, type Failure, internal } from "../../containers/failure.ts";
import { messageOf } from "../../control-plane/error.ts";
import { referenceOf } from "../engine.ts";

export const NO_MANIFEST = /manifest unknown|not found/i;
const NO_SUCH_DIGEST =
  "the registry has no image with this digest under this name. Its publisher pushes it there, and " +
  "gives the digest that docker push prints, and not the id that docker images shows: " +
  "docker inspect --format '{{index .RepoDigests 0}}' says it";

/** Those that trying again does not mend; the first that fits speaks. */
const FINAL: [pattern: RegExp, why: string][] = [
  [
    /no matching manifest/i,
    `it is not there for the processors of this hardware (${process.arch}): build it for them (docker build --platform)`,
  ],
  [
    // A registry that wants a login says so of what there is not, too.
    /denied|unauthorized|authentication|no basic auth|repository name not known|name unknown/i,
    "the registry has no such repository, or the runner may not read it: check the repository's name; the operator uses docker login on the runner's machine where it needs one",
  ],
  [NO_MANIFEST, NO_SUCH_DIGEST],
  [/invalid reference/i, "this is no name of an image"],
];

export interface PullFailure {
  failure: Failure;
  /** Trying again does not mend it. */
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
    ? "the disk of the runner's machine is full, and the operator makes room"
    : "the runner did not get it from the registry; the operator finds why in the runner's log";
  return { failure: internal(text(reference, trouble), options), final: false };
}

const text = (reference: string, why: string) => `${reference} cannot be pulled: ${why}`;
