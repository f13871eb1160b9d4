/**
 * The bridge networks of one runner's containers: one for those that may reach the internet, and
 * one for those that may not, or only by the runner.
 */
import { createHash } from "node:crypto";
import type Dockerode from "dockerode";
import { internal } from "../../containers/failure.ts";
import { ignoreStatus } from "./ignore-status.ts";

export interface Network {
  name: string;
  bridge: string;
  gateway: string;
}

export type NetworkKind = "open" | "closed";

/** Found again by the next life of the runner: the name is made from the runner's. */
export async function openNetwork(
  docker: Dockerode,
  runner: string,
  kind: NetworkKind,
): Promise<Network> {
  const name = networkName(runner, kind);
  const bridge = bridgeName(name);
  const networks = await docker.listNetworks({ filters: { name: [name] } });
  if (!networks.some((network) => network.Name === name)) {
    await docker.createNetwork({
      Name: name,
      Driver: "bridge",
      EnableIPv6: false,
      Labels: { "auspex.runner": runner },
      Options: {
        "com.docker.network.bridge.name": bridge,
        "com.docker.network.bridge.enable_icc": "false",
      },
    });
  }
  const network = await docker.getNetwork(name).inspect();
  const gateway: unknown = network.IPAM?.Config?.[0]?.Gateway;
  if (typeof gateway !== "string") throw internal(`the network ${name} has no gateway`);
  return { name, bridge, gateway };
}

/** One that is gone already is an ordinary result. */
export async function closeNetwork(docker: Dockerode, name: string): Promise<void> {
  await ignoreStatus([404], docker.getNetwork(name).remove());
}

/** No two runners have one, whatever they are called. */
const networkName = (runner: string, kind: NetworkKind): string =>
  kind === "open" ? `auspex-${runner}` : `auspex.closed-${runner}`;

/** The names of interfaces have at most 15 characters. */
const bridgeName = (network: string): string =>
  `ax-${createHash("sha256").update(network).digest("hex").slice(0, 10)}`;
