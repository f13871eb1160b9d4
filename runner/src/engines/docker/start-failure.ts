/**
 * Failures of Docker to start a container, worded for the person who can fix them: the image's publisher
 * (`external`) or the machine's operator (`internal`). Docker's message contains paths of the machine: it is
 * the cause, for the log.
 */

import { messageOf } from "../../lib/error.ts";
import {
  external,
  Failure,
  internal,
  machineCode,
  machineText,
  ofMachine,
} from "../../lib/failure.ts";
import { isAway } from "./away.ts";

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
      "its operator must update the driver, or the image must be built for an older CUDA";
    return internal(
      `the image needs what the NVIDIA driver of the runner's machine does not have (${requirement}): ${advice}`,
      options,
    );
  }
  const own = ownWords(message);
  if (GPU.test(OF_RUNTIME.test(own) ? message : own)) return ofMachine(NO_RUNTIME, options);
  const [, command, why] = COMMAND.exec(message) ?? [];
  if (command !== undefined) {
    const advice = "fix its ENTRYPOINT or CMD and publish it again";
    return external(`the image's command '${command}' cannot be run (${why}): ${advice}`, options);
  }
  if (/no command specified/i.test(message)) {
    return external("the image has no command: add an ENTRYPOINT or CMD", options);
  }
  const [, kind, name] = USER.exec(message) ?? [];
  if (kind !== undefined) {
    return external(`the image has no ${kind} '${name}', which it should run as`, options);
  }
  const code = systemCode(message) ?? machineCode(error);
  if (code !== undefined) return ofMachine(machineText(code), options);
  const [, runtime] = RUNTIME.exec(message) ?? [];
  if (runtime) {
    return ofMachine(
      `Docker has no runtime ${runtime}: the operator must install it or change --runtime`,
    );
  }
  if (MOUNT.test(message)) return ofMachine(NO_MOUNT, options);
  if (isAway(error)) return ofMachine(NO_DOCKER, options);
  if (isRefused(error, message)) return ofMachine(REFUSED, options);
  return internal(
    "the container cannot be started; see the runner's log for Docker's message",
    options,
  );
}

export const NO_DOCKER = "Docker on the runner's machine does not answer";
const REFUSED =
  "Docker on the runner's machine refuses to create containers; see the runner's log for its message";

/** The advice for an image that asks for a GPU in a class without one, in case this is why it fails. */
export const NO_GPU =
  "the image asks for a GPU, and this hardware has none: publish a version for hardware with a " +
  "GPU (configuration.hardware_identifier); if this hardware should have one, its operator can " +
  "say so at /fleet/hardware";
const NO_RUNTIME =
  "Docker on the runner's machine cannot give the container its GPUs: the operator must install " +
  "the NVIDIA driver and container toolkit (auspex-runner check says how)";
const NO_MOUNT =
  "Docker does not find the weights that the runner has fetched: its operator must set --state to a " +
  "directory that has the same path for the runner and for Docker (a runner in a container needs it " +
  "mounted at that path)";
