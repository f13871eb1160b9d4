/**
 * Whether a container may open a device file. Its list of allowed devices is not to be read from
 * outside, so a process in the container tries: a shell of its image.
 */
import { once } from "node:events";
import type Dockerode from "dockerode";
import { settlesWithin } from "../../../../src/lib/timeout.ts";
import { SHELL } from "./hidden-variables.ts";

const REFUSED = 3;

/** A file that is not there is not refused. A shell that fails to redirect ends: so a second one. */
const SCRIPT = `[ -e "$0" ] || exit 0; (: <"$0") 2>/dev/null && exit 0; exit ${REFUSED}`;

const ANSWER_MS = 5_000;

/** Undefined if the image has no shell, or the container does not run any more. */
export async function canOpen(
  container: Dockerode.Container,
  device: string,
): Promise<boolean | undefined> {
  try {
    const Cmd = [SHELL, "-c", SCRIPT, device];
    const exec = await container.exec({ Cmd, AttachStdout: true });
    const output = await exec.start({});
    const end = once(output.resume(), "end");
    if (!(await settlesWithin(end, ANSWER_MS))) return undefined;
    const { ExitCode } = await exec.inspect();
    return ExitCode === 0 ? true : ExitCode === REFUSED ? false : undefined;
  } catch {
    return undefined;
  }
}
