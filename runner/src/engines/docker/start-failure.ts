/**
 * Why Docker could not start a container, in words of whoever can mend it: who publishes the image
 * (`external`) or who operates the machine (`internal`). Docker's own words name paths of the
 * machine: they are the cause, for the log.
 */
import { external, type Failure, internal } from "../../containers/failure.ts";
import { messageOf } from "../../control-plane/error.ts";

/** Without the runtime; with it, and without a driver or a GPU behind it. */
const GPU =
  /could not select device driver|nvidia-container-(?:cli|runtime)|CDI device|runtime name: nvidia/i;

const RUNTIME = /unknown or invalid runtime name: (\S+)/i;

/** `exec: "python": executable file not found in $PATH`, and two more. */
const COMMAND =
  /exec: "([^"]*)": (?:stat [^:]*: )?(executable file not found|permission denied|no such file or directory)/i;

const USER = /unable to find (user|group) (\S+?):/i;

export interface StartCircumstances {
  /** Whether the image asks for GPUs itself, and not the runner for all of them. */
  needsGpu: boolean;
  /** Whether there is one in the machine. */
  hasGpu: boolean;
}

export function startFailure(error: unknown, { needsGpu, hasGpu }: StartCircumstances): Failure {
  const message = messageOf(error);
  const options = { cause: error };
  if (GPU.test(message)) {
    if (needsGpu && !hasGpu) return external(NO_GPU, options);
    return internal(needsGpu ? NO_RUNTIME : NO_GPU_RUNTIME_FOR_ALL, options);
  }
  const [, runtime] = RUNTIME.exec(message) ?? [];
  if (runtime) {
    return internal(
      `Docker has no runtime ${runtime}: the operator sets it up, or changes --runtime`,
    );
  }
  const [, command, why] = COMMAND.exec(message) ?? [];
  if (command !== undefined) {
    const advice = "put right its ENTRYPOINT or CMD and publish it anew";
    return external(`the image's command '${command}' cannot be run (${why}): ${advice}`, options);
  }
  if (/no command specified/i.test(message)) {
    return external("the image has no command: give it an ENTRYPOINT or CMD", options);
  }
  const [, kind, name] = USER.exec(message) ?? [];
  if (kind !== undefined) {
    return external(`the image has no ${kind} '${name}', which it is to run as`, options);
  }
  return internal(
    "the container cannot be started; the operator finds what Docker says in the runner's log",
    options,
  );
}

const NO_GPU =
  "the image needs a GPU and the runner's machine has none: publish a version for hardware that " +
  "has one (configuration.hardware_identifier), or an image that does without; where this " +
  "hardware should have one, its operator runs auspex-runner check";
const NO_RUNTIME =
  "the image needs a GPU, which Docker on the runner's machine cannot give it: the operator " +
  "installs the NVIDIA driver and container toolkit there (auspex-runner check says how)";
const NO_GPU_RUNTIME_FOR_ALL =
  "the runner gives every container GPUs (--gpus always), and Docker on its machine has none: the " +
  "operator runs auspex-runner check";
