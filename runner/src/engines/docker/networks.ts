/**
 * The networks of a runner, of which a start needs one: `docker network prune` removes those without
 * containers, and so does another runner of this name when it ends.
 */

import { createHash } from "node:crypto";
import type Dockerode from "dockerode";
import { ofMachine } from "../../../../src/run/failure.ts";
import type { Log } from "../../lib/log.ts";
import { ignoreStatus } from "./errors.ts";
import type { FirewallRules } from "./firewall.ts";

export class Networks {
  readonly #docker: Dockerode;
  readonly #runner: string;
  readonly #log: Log;
  /** Containers of both networks reach the callback server at the gateway of this one. */
  readonly #open: Network;
  /** The network appears with the first container that needs it: most runners never do. */
  #closed: Network | undefined;
  #ensuring = Promise.resolve();

  static async open(docker: Dockerode, runner: string, log: Log): Promise<Networks> {
    const open = await openNetwork(docker, runner, "open");
    // An earlier process may have left containers in the closed network.
    const isLeft = await hasNetwork(docker, networkName(runner, "closed"));
    const closed = isLeft ? await openNetwork(docker, runner, "closed") : undefined;
    return new Networks(docker, runner, log, open, closed);
  }

  private constructor(
    docker: Dockerode,
    runner: string,
    log: Log,
    open: Network,
    closed: Network | undefined,
  ) {
    this.#docker = docker;
    this.#runner = runner;
    this.#log = log;
    this.#open = open;
    this.#closed = closed;
  }

  get gateway(): string {
    return this.#open.gateway;
  }

  /** @param callbackPort of the callback server @param egress whether containers may reach the internet */
  rules(callbackPort: number, egress: boolean): FirewallRules[] {
    const { gateway } = this;
    return this.#all().map(({ kind, bridge }) => ({
      bridge,
      gateway,
      callbackPort,
      egress: kind === "open" && egress,
    }));
  }

  /**
   * Makes missing networks again, with the addresses that they had: the runner listens there. One call at a
   * time makes networks, the open one first, so that no other network takes its addresses.
   * @param kind of the network that must be there, even for the first time
   * @returns its name
   */
  ensure(kind: NetworkKind): Promise<string> {
    const ensured = this.#ensuring.then(() => this.#ensure(kind));
    this.#ensuring = ensured.then(noop, noop);
    return ensured;
  }

  async close(): Promise<void> {
    for (const { name } of this.#all()) await closeNetwork(this.#docker, name);
  }

  async #ensure(kind: NetworkKind): Promise<string> {
    for (const network of this.#all()) {
      if (await hasNetwork(this.#docker, network.name)) continue;
      this.#log.warn("the containers' network was missing, recreating it", {
        network: network.name,
      });
      await openNetwork(this.#docker, this.#runner, network.kind, network);
    }
    if (kind === "open") return this.#open.name;
    this.#closed ??= await openNetwork(this.#docker, this.#runner, "closed");
    return this.#closed.name;
  }

  #all(): Network[] {
    return [this.#open, ...(this.#closed ? [this.#closed] : [])];
  }
}

const noop = () => {};

/**
 * One of the two bridge networks: "open" is for containers with internet access, and "closed" for containers
 * without, or with access through the runner's proxy.
 */
interface Network {
  kind: NetworkKind;
  name: string;
  bridge: string;
  gateway: string;
  subnet: string;
}

type NetworkKind = "open" | "closed";

/**
 * The name is derived from the runner's, so that a later process finds the network again.
 * @param before with the addresses of this one
 */
async function openNetwork(
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
  return { kind, name, bridge, gateway, subnet };
}

const hasNetwork = async (docker: Dockerode, name: string): Promise<boolean> =>
  (await docker.listNetworks({ filters: { name: [name] } })).some(({ Name }) => Name === name);

/** Removes a network; a missing network is no error. */
async function closeNetwork(docker: Dockerode, name: string): Promise<void> {
  await ignoreStatus([404], docker.getNetwork(name).remove());
}

/** @returns a name that is unique per runner */
const networkName = (runner: string, kind: NetworkKind): string =>
  kind === "open" ? `auspex-${runner}` : `auspex.closed-${runner}`;

/** Interface names have at most 15 characters. */
const bridgeName = (network: string): string =>
  `ax-${createHash("sha256").update(network).digest("hex").slice(0, 10)}`;
