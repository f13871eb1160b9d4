/**
 * Failures of pulls, worded for the person who can fix them. Docker's message contains addresses and paths of
 * the machine: it is the cause, for the log.
 */

import { messageOf } from "../../lib/error.ts";
import { external, type Failure, internal, machineText, ofMachine } from "../../lib/failure.ts";
import { systemCode } from "./start-failure.ts";

/** An image with the name that people know. */
export interface PulledImage {
  name: string;
  /** The host of the deployment's own registry, if the image is there. */
  ownHost: string | undefined;
}

export const NO_MANIFEST = /manifest unknown|not found/i;
const NO_SUCH_DIGEST =
  "the registry has no image with this digest under this name. Push the image, and publish the " +
  "digest that docker push prints rather than the id that docker images shows: " +
  "docker inspect --format '{{index .RepoDigests 0}}' prints it";

/** Errors that a retry does not fix; the first match counts. */
type Reasons = [pattern: RegExp, kind: typeof external, why: string][];

const FOR_ALL: Reasons = [
  [
    /no matching manifest/i,
    external,
    `it is not available for this hardware's architecture (${process.arch}): build it for that (docker build --platform)`,
  ],
  [/invalid reference/i, external, "the image name is invalid"],
];

/** A registry that requires a login says this of missing repositories too. */
const REFUSED = /denied|unauthorized|authentication|no basic auth/i;
const NO_NAME = /repository name not known|name unknown/i;

const ELSEWHERE: Reasons = [
  [
    new RegExp(`${REFUSED.source}|${NO_NAME.source}`, "i"),
    external,
    "the registry has no such repository, or the runner may not read it: check the repository's name; if it is private, the operator must run docker login on the runner's machine",
  ],
  [NO_MANIFEST, external, NO_SUCH_DIGEST],
];

const own = (host: string): Reasons => [
  [
    REFUSED,
    internal,
    "the deployment did not accept the runner's grant for it, which has ended or went with the runner's token: run the prediction again",
  ],
  [
    /server gave HTTP response to HTTPS client/i,
    ofMachine,
    `Docker uses http only for registries on 127.0.0.0/8: the operator must serve the deployment over https, or add "${host}" to "insecure-registries" in /etc/docker/daemon.json on the runner's machine and restart Docker`,
  ],
  [
    new RegExp(`${NO_NAME.source}|${NO_MANIFEST.source}`, "i"),
    external,
    "the deployment's registry does not have it any more: push it again",
  ],
];

/** Docker names the call that failed and a path of the machine. */
const FAILED_CALL =
  /^(?:\(HTTP code \d+\) [a-z ]+ - )?(?:(?:failed to|error processing|ApplyLayer|mount callback failed) [^"]*: )?(?:open|write|mkdir|mkdirat|create|link|symlink|rename|chmod|chown|lchown|fsync|sync|copy_file_range) \//i;
/** Marks of a message that comes from a registry's status line or body. */
const FROM_REGISTRY = /:\/\/|unexpected (?:HTTP )?status|HTTP response|errors:/i;

/**
 * Whether Docker itself says that a system call has failed. A registry's error begins with one of the codes
 * of the OCI specification, such as "unknown: ", whatever follows.
 */
const isDockersOwn = (message: string): boolean =>
  FAILED_CALL.test(message) && !FROM_REGISTRY.test(message);

export interface PullFailure {
  failure: Failure;
  /** Whether retries are useless. */
  final: boolean;
  /** Whether retries are useless until the disk has room. */
  diskFull: boolean;
}

export const noManifest = (image: PulledImage): Failure => external(text(image, NO_SUCH_DIGEST));

export function pullFailure(image: PulledImage, error: unknown): PullFailure {
  const message = messageOf(error);
  const options = { cause: error };
  const code = isDockersOwn(message) ? systemCode(message) : undefined;
  if (code !== undefined) {
    const failure = ofMachine(text(image, machineText(code)), options);
    return { failure, final: false, diskFull: code === "ENOSPC" };
  }
  const reasons = [...FOR_ALL, ...(image.ownHost === undefined ? ELSEWHERE : own(image.ownHost))];
  const [, kind, why] = reasons.find(([pattern]) => pattern.test(message)) ?? [];
  if (kind && why !== undefined)
    return { failure: kind(text(image, why), options), final: true, diskFull: false };
  // Other registries may be down, or answer arbitrarily.
  const make = image.ownHost === undefined ? internal : ofMachine;
  const trouble = "the registry could not be read; see the runner's log";
  return { failure: make(text(image, trouble), options), final: false, diskFull: false };
}

/** Returns the failure of an image that filled the disk, although most of the disk is free without it. */
export const tooLarge = (image: PulledImage, cause: unknown): Failure =>
  internal(text(image, "it does not fit on the disk of the runner's machine"), { cause });

const text = ({ name }: PulledImage, why: string) => `${name} cannot be pulled: ${why}`;
