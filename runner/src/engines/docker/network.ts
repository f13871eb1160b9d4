/**
 * The bridge networks of a runner's containers: one for containers with internet access, and one
 * for those without, or with access through the runner's proxy.
 */
import { createHash } from "node:crypto";
import type Dockerode from "dockerode";
import { ofMachine } from "../../lib/failure.ts";
import { ignoreStatus } from "./ignore-status.ts";

export interface Network {
  name: string;
  bridge: string;
  gateway: string;
  subnet: string;
}

export type NetworkKind = "open" | "closed";

/**
 * The name is derived from the runner's, so that a later process finds the network again.
 * @param before with the addresses of this one
 */
export async function openNetwork(
  docker: Dockerode,
  runner: string,
  kind: NetworkKind,
  before?: Network,
): Promise<Network> {
  const name = networkName(runner, kind);
  const bridge = bridgeName(name);
  if (!(await hasNetwork(docker, name))) {
    const addresses = before && { Subnet: before.subnet, Gateway: before.gateway };
    await docker.createNetwork({
      Name: name,
      Driver: "bridge",
      EnableIPv6: false,
      Labels: { "auspex.runner": runner },
      ...(addresses && { IPAM: { Driver: "default", Config: [addresses] } }),
      Options: {
        "com.docker.network.bridge.name": bridge,
        "com.docker.network.bridge.enable_icc": "false",
      },
    });
  }
  const network = await docker.getNetwork(name).inspect();
  const { Gateway: gateway, Subnet: subnet } = network.IPAM?.Config?.[0] ?? {};
  if (gateway === undefined || subnet === undefined)
    throw ofMachine(`the network ${name} has no gateway`);
  return { name, bridge, gateway, subnet };
}

export const hasNetwork = async (docker: Dockerode, name: string): Promise<boolean> =>
  (await docker.listNetworks({ filters: { name: [name] } })).some(({ Name }) => Name === name);

/** Removes a network; one that does not exist is no error. */
export async function closeNetwork(docker: Dockerode, name: string): Promise<void> {
  await ignoreStatus([404], docker.getNetwork(name).remove());
}

/** Unique per runner. */
const networkName = (runner: string, kind: NetworkKind): string =>
  kind === "open" ? `auspex-${runner}` : `auspex.closed-${runner}`;

/** Interface names have at most 15 characters. */
const bridgeName = (network: string): string =>
  `ax-${createHash("sha256").update(network).digest("hex").slice(0, 10)}`;
