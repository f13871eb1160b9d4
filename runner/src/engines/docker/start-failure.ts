/**
 * Why Docker could not start a container, for whoever can fix it: the image's publisher
 * (`external`) or the machine's operator (`internal`). Docker's message contains paths of the
 * machine: it is the cause, for the log.
 */
import { external, type Failure, internal } from "../../containers/failure.ts";
import { messageOf } from "../../control-plane/error.ts";

/** Without the NVIDIA runtime; or with it, but without a driver or GPU. */
const GPU =
  /could not select device driver|nvidia-container-(?:cli|runtime)|CDI device|runtime name: nvidia/i;

const RUNTIME = /unknown or invalid runtime name: (\S+)/i;

/** `exec: "python": executable file not found in $PATH`, and two similar messages. */
const COMMAND =
  /exec: "([^"]*)": (?:stat [^:]*: )?(executable file not found|permission denied|no such file or directory)/i;

/** Also where Docker runs on another machine, or this runner in a container. */
const MOUNT = /bind source path does not exist/i;

const USER = /unable to find (user|group) (\S+?):/i;

export function startFailure(error: unknown): Failure {
  const message = messageOf(error);
  const options = { cause: error };
  if (GPU.test(message)) return internal(NO_RUNTIME, options);
  const [, runtime] = RUNTIME.exec(message) ?? [];
  if (runtime) {
    return internal(
      `Docker has no runtime ${runtime}: the operator must install it or change --runtime`,
    );
  }
  if (MOUNT.test(message)) return internal(NO_MOUNT, options);
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
  return internal(
    "the container cannot be started; see the runner's log for Docker's message",
    options,
  );
}

/** For an image that asks for a GPU in a class without, in case that is why it fails. */
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
