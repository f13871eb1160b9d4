/** The bridge network of one runner's containers. */
import { createHash } from "node:crypto";
import type Dockerode from "dockerode";
import { internal } from "../containers/failure.ts";
import { ignoring } from "./status.ts";

export interface Network {
  name: string;
  bridge: string;
  gateway: string;
}

/** Found again by the next life of the runner: the name is made from the runner's. */
export async function openNetwork(docker: Dockerode, runner: string): Promise<Network> {
  const name = networkName(runner);
  const bridge = bridgeName(runner);
  const found = await docker.listNetworks({ filters: { name: [name] } });
  if (!found.some((network) => network.Name === name)) {
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
  await ignoring([404], docker.getNetwork(name).remove());
}

const networkName = (runner: string): string => `auspex-${runner}`;

/** The names of interfaces have at most 15 characters. */
const bridgeName = (runner: string): string =>
  `ax-${createHash("sha256").update(runner).digest("hex").slice(0, 10)}`;
