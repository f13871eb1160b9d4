/** How far containers are from this machine's root and kernel, and what an operator may do about it. */

import type { Sandbox } from "../options.ts";
import { type DockerInfo, hasUserNamespaces } from "./info.ts";

export type IsolationOptions = Pick<Sandbox, "user" | "runtime">;

/** What is the case; with advice where root in a container is root of this machine. */
export function describeIsolation(
  info: DockerInfo,
  { user, runtime }: IsolationOptions,
): { detail: string; advice?: string } {
  if (runtime !== undefined) return { detail: `containers run by the runtime ${runtime}` };
  if (hasUserNamespaces(info)) {
    return { detail: "root in a container is nobody on this machine (user namespaces)" };
  }
  if (user !== undefined && !/^(root|0+)(:|$)/.test(user)) {
    return { detail: `containers run as ${user}, without user namespaces` };
  }
  return {
    detail: "root in a container is root of this machine, but for its capabilities",
    advice:
      'set "userns-remap": "default" in /etc/docker/daemon.json (images are pulled anew), or use ' +
      "--runtime runsc, or --user 65534:65534 for images that can do without root",
  };
}

/** Why containers cannot have it; undefined when they can. */
export function runtimeProblem(
  { Runtimes }: DockerInfo,
  { runtime }: IsolationOptions,
): string | undefined {
  if (runtime === undefined || runtime in Runtimes) return undefined;
  const known = Object.keys(Runtimes).join(", ");
  return `Docker has no runtime ${runtime}, which --runtime asks for (it has ${known})`;
}

export const RUNTIME_ADVICE = "install it, and name it in the runtimes of /etc/docker/daemon.json";
