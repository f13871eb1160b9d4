/** What systemd has to know of a runner that is its service. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { messageOf } from "../control-plane/error.ts";
import type { Log } from "./log.ts";

const run = promisify(execFile);

/** Whether this is a process of a service, which ends with its main one. */
export const isService = (): boolean => process.env.NOTIFY_SOCKET !== undefined;

/**
 * This process is the service's main one from now on: the one before it ends as soon as it may. Node has
 * no sockets of systemd's kind, so its own program says it. Never rejects.
 */
export async function becomeMainProcess(log: Log): Promise<void> {
  if (!isService()) return;
  try {
    await run("systemd-notify", [`MAINPID=${process.pid}`]);
  } catch (error) {
    log.error("systemd takes the end of the process before this one for the end of the service", {
      error: messageOf(error),
    });
  }
}
