/** How well containers are isolated from this machine, and how operators can improve it. */

import type { Sandbox } from "../options.ts";
import { type DockerInfo, hasUserNamespaces } from "./info.ts";

export type IsolationOptions = Pick<Sandbox, "user" | "runtime">;

/** Describes the isolation; with advice if root in a container is root on this machine. */
export function describeIsolation(
  info: DockerInfo,
  { user, runtime }: IsolationOptions,
): { detail: string; advice?: string } {
  if (runtime !== undefined) return { detail: `containers use the runtime ${runtime}` };
  if (hasUserNamespaces(info)) {
    return { detail: "root in a container is unprivileged on this machine (user namespaces)" };
  }
  if (user !== undefined && !/^(root|0+)(:|$)/.test(user)) {
    return { detail: `containers run as ${user}, without user namespaces` };
  }
  return {
    detail: "root in a container is root on this machine, with fewer capabilities",
    advice:
      'set "userns-remap": "default" in /etc/docker/daemon.json (images are pulled again), or use ' +
      "--runtime runsc, or --user 65534:65534 for images that do not need root",
  };
}

/** Why the runtime cannot be used; undefined if it can. */
export function runtimeProblem(
  { Runtimes }: DockerInfo,
  { runtime }: IsolationOptions,
): string | undefined {
  if (runtime === undefined || runtime in Runtimes) return undefined;
  const known = Object.keys(Runtimes).join(", ");
  return `Docker has no runtime ${runtime}, which --runtime requires (available: ${known})`;
}

export const RUNTIME_ADVICE = "install it and add it to the runtimes in /etc/docker/daemon.json";
