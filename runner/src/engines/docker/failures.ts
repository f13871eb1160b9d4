/**
 * Failures of Docker to start a container, worded for the person who can fix them: the image's publisher
 * (`external`) or the machine's operator (`internal`). Docker's message contains paths of the machine: it is
 * the cause, for the log.
 */

import { external, Failure, internal, ofMachine } from "../../../../src/run/failure.ts";
import { messageOf } from "../../lib/error.ts";
import { machineCode, machineText } from "../../lib/failure.ts";
import { isAway } from "./errors.ts";

/** Docker has no NVIDIA runtime, or the machine has no driver or GPU. */
const GPU =
  /could not select device driver|nvidia-container-(?:cli|runtime)|CDI device|runtime name: nvidia/i;

/** Messages about a missing program of the runtime, which has not read the image yet. */
const OF_RUNTIME = /unable to retrieve OCI runtime error|: fork$/i;

const RUNTIME = /unknown or invalid runtime name: (\S+)/i;

/** `exec: "python": executable file not found in $PATH`, and two similar messages. */
const COMMAND =
  /exec: "((?:[^"\\]|\\.)*)": (?:stat .*: )?(executable file not found|permission denied|no such file or directory)/i;

/** A mount also fails if Docker runs on another machine, or this runner in a container. */
const MOUNT = /^[^"/]*type "bind": bind source path does not exist/i;

/** An image may ask for a later driver than a machine has. */
const REQUIREMENT = /nvidia-container-cli: requirement error: ([^\n]*)/i;

/** Messages of a machine that has run out of something, or whose disk fails, with their codes. */
const SYSTEM: Record<string, string> = {
  "no space left on device": "ENOSPC",
  "disk quota exceeded": "ENOSPC",
  "read-only file system": "EROFS",
  "input/output error": "EIO",
  "too many open files": "EMFILE",
  "cannot allocate memory": "ENOMEM",
  "resource temporarily unavailable": "ENOMEM",
};

/** Go writes the system error last. The text before it may be a path or a name that the image chose. */
const SYSTEM_ERROR = new RegExp(
  `(?:^|: )(${Object.keys(SYSTEM).join("|")})(?:: unknown)?\\s*$`,
  "i",
);

/** A volume below /proc or /sys makes any machine say EROFS. */
const NOT_OF_IMAGES = ["ENOSPC", "EMFILE"];

/** Messages about isolation, which the kernel or the machine's settings refuse to every container. */
const ISOLATION = /cgroup|apparmor|seccomp|selinux|iptables|failed to set up container networking/i;

/**
 * Messages of a runtime that has begun with the container: most failures from then on are caused by the
 * image.
 */
const BEGUN = /OCI runtime|runc|failed to create (?:shim )?task|container process/i;

/** The system error of the machine that Docker's message names. */
export function systemCode(message: string): string | undefined {
  const [, said = ""] = SYSTEM_ERROR.exec(message) ?? [];
  const code = SYSTEM[said.toLowerCase()];
  return code === undefined || (BEGUN.test(message) && !NOT_OF_IMAGES.includes(code))
    ? undefined
    : code;
}

/** Docker's own words: paths and quotes may be chosen by the image. */
const ownWords = (message: string): string => /^[^"/]*/.exec(message)?.[0] ?? "";

/** Whether Docker refuses the start for a reason that does not depend on the image. */
function isRefused(error: unknown, message: string): boolean {
  const { statusCode = 0 } = error instanceof Error && "statusCode" in error ? error : {};
  const isServers = Number(statusCode) >= 500 || /authorization denied by plugin/i.test(message);
  return ISOLATION.test(ownWords(message)) || (isServers && !BEGUN.test(message));
}

const USER = /unable to find (user|group) (.+?): no matching/i;

export function startFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const message = messageOf(error);
  const options = { cause: error };
  const [, requirement] = REQUIREMENT.exec(message) ?? [];
  if (requirement !== undefined) {
    const advice =
      "The operator must update the driver, or the image must be built for an older CUDA";
    return internal(
      `the NVIDIA driver of the runner's machine does not meet the image's requirements (${requirement}). ${advice}`,
      options,
    );
  }
  const own = ownWords(message);
  if (GPU.test(OF_RUNTIME.test(own) ? message : own)) return ofMachine(NO_RUNTIME, options);
  const [, command, why] = COMMAND.exec(message) ?? [];
  if (command !== undefined) {
    const advice = "Fix its ENTRYPOINT or CMD and publish it again";
    return external(`the image's command '${command}' cannot be run (${why}). ${advice}`, options);
  }
  if (/no command specified/i.test(message)) {
    return external("the image has no command. Add an ENTRYPOINT or CMD", options);
  }
  const [, kind, name] = USER.exec(message) ?? [];
  if (kind !== undefined) {
    return external(`the image has no ${kind} '${name}' that it runs as`, options);
  }
  const code = systemCode(message) ?? machineCode(error);
  if (code !== undefined) return ofMachine(machineText(code), options);
  const [, runtime] = RUNTIME.exec(message) ?? [];
  if (runtime) {
    return ofMachine(
      `Docker has no runtime ${runtime}. The operator must install it or change --runtime`,
    );
  }
  if (MOUNT.test(message)) return ofMachine(NO_MOUNT, options);
  if (isAway(error)) return ofMachine(NO_DOCKER, options);
  if (isRefused(error, message)) return ofMachine(REFUSED, options);
  return internal(
    "the container cannot be started. See the runner's log for Docker's message",
    options,
  );
}

export const NO_DOCKER = "Docker on the runner's machine does not respond";
const REFUSED =
  "Docker on the runner's machine refuses to create containers. See the runner's log for its message";

/** The advice for an image that asks for a GPU in a class without one, in case this is why it fails. */
export const NO_GPU =
  "the image requires a GPU, and this hardware has none. Publish a version for hardware with a " +
  "GPU (configuration.hardware_identifier). If this hardware has one, the operator must set its " +
  "number of GPUs at /fleet/hardware";
const NO_RUNTIME =
  "Docker on the runner's machine cannot give the container its GPUs. The operator must install " +
  "the NVIDIA driver and container toolkit (auspex-runner check says how)";
const NO_MOUNT =
  "Docker cannot find the weights downloaded by the runner. The operator must set --state to a " +
  "directory with the same path for the runner and for Docker (if the runner is in a container, " +
  "mounted at that path)";

/** An image with the name that people know. */
export interface PulledImage {
  name: string;
  /** The host of the deployment's own registry, if the image is there. */
  ownHost: string | undefined;
}

export const NO_MANIFEST = /manifest unknown|not found/i;
const NO_SUCH_DIGEST =
  "the registry has no image with this name and digest. Push the image, and publish the " +
  "digest that docker push prints rather than the id that docker images shows: " +
  "docker inspect --format '{{index .RepoDigests 0}}' prints it";

/** Errors that a retry does not fix; the first match counts. */
type Reasons = [pattern: RegExp, kind: typeof external, why: string][];

const FOR_ALL: Reasons = [
  [
    /no matching manifest/i,
    external,
    `it is not available for this hardware's architecture (${process.arch}). Build it for that architecture (docker build --platform)`,
  ],
  [/invalid reference/i, external, "the image name is invalid"],
];

/** A registry that requires a login says this of missing repositories too. */
const NO_ACCESS = /denied|unauthorized|authentication|no basic auth/i;
const NO_NAME = /repository name not known|name unknown/i;

const ELSEWHERE: Reasons = [
  [
    new RegExp(`${NO_ACCESS.source}|${NO_NAME.source}`, "i"),
    external,
    "the repository does not exist, or the runner has no access to it. Check the repository's name. If it is private, the operator must run docker login on the runner's machine",
  ],
  [NO_MANIFEST, external, NO_SUCH_DIGEST],
];

const own = (host: string): Reasons => [
  [
    NO_ACCESS,
    internal,
    "the runner's grant to pull it has expired or was revoked. Run the prediction again",
  ],
  [
    /server gave HTTP response to HTTPS client/i,
    ofMachine,
    `Docker uses http only for registries on 127.0.0.0/8. The operator must serve the deployment over https, or add "${host}" to "insecure-registries" in /etc/docker/daemon.json on the runner's machine and restart Docker`,
  ],
  [
    new RegExp(`${NO_NAME.source}|${NO_MANIFEST.source}`, "i"),
    external,
    "the deployment's registry no longer has it. Push it again",
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

interface PullFailure {
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
  const trouble = "the registry could not be read. See the runner's log";
  return { failure: make(text(image, trouble), options), final: false, diskFull: false };
}

/** Returns the failure of an image that filled the disk, although most of the disk is free without it. */
export const tooLarge = (image: PulledImage, cause: unknown): Failure =>
  internal(text(image, "it does not fit on the disk of the runner's machine"), { cause });

const text = ({ name }: PulledImage, why: string) => `${name} cannot be pulled: ${why}`;
