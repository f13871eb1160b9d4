/** How well containers are isolated from this machine, and how operators can improve it. */

import type { Sandbox } from "../options.ts";
import { type DockerInfo, hasUserNamespaces } from "./info.ts";

export type IsolationOptions = Pick<Sandbox, "user" | "runtime" | "class_runtimes">;

interface Isolation {
  detail: string;
  advice?: string;
}

/** Describes the isolation; with advice if root in a container is root on this machine. */
export function describeIsolation(info: DockerInfo, options: IsolationOptions): Isolation {
  const { detail, ...rest } = describeGeneral(info, options);
  const others = [...(options.class_runtimes ?? [])].map(
    ([hardware, runtime]) => `; those of ${hardware} use the runtime ${runtime}`,
  );
  return { detail: `${detail}${others.join("")}`, ...rest };
}

function describeGeneral(info: DockerInfo, { user, runtime }: IsolationOptions): Isolation {
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
  { runtime, class_runtimes }: IsolationOptions,
): string | undefined {
  const needed = [runtime, ...(class_runtimes?.values() ?? [])];
  const missing = needed.find((one) => one !== undefined && !(one in Runtimes));
  if (missing === undefined) return undefined;
  const known = Object.keys(Runtimes).join(", ");
  return `Docker has no runtime ${missing}, which --runtime requires (available: ${known})`;
}

/** The runtime of containers of a class; undefined for Docker's default. */
export const runtimeOf = (
  { runtime, class_runtimes }: IsolationOptions,
  hardware: string,
): string | undefined => class_runtimes?.get(hardware) ?? runtime;

export const RUNTIME_ADVICE = "install it and add it to the runtimes in /etc/docker/daemon.json";
