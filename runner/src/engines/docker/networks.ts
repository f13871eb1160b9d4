/**
 * The networks of a runner, which must be there for each start: `docker network prune` removes those
 * without containers, and so does another runner of this name when it ends.
 */
import type Dockerode from "dockerode";
import type { Log } from "../../lib/log.ts";
import type { FirewallRules } from "./firewall.ts";
import {
  closeNetwork,
  hasNetwork,
  type Network,
  type NetworkKind,
  openNetwork,
} from "./network.ts";

const KINDS = ["open", "closed"] as const;

export class Networks {
  readonly #docker: Dockerode;
  readonly #runner: string;
  readonly #log: Log;
  readonly #networks: Record<NetworkKind, Network>;
  #restoring: Promise<void> | undefined;

  static async open(docker: Dockerode, runner: string, log: Log): Promise<Networks> {
    const open = await openNetwork(docker, runner, "open");
    const closed = await openNetwork(docker, runner, "closed");
    return new Networks(docker, runner, log, { open, closed });
  }

  private constructor(
    docker: Dockerode,
    runner: string,
    log: Log,
    networks: Record<NetworkKind, Network>,
  ) {
    this.#docker = docker;
    this.#runner = runner;
    this.#log = log;
    this.#networks = networks;
  }

  get(kind: NetworkKind): Network {
    return this.#networks[kind];
  }

  /** @param callbackPort of the callback server @param egress whether containers may reach the internet */
  rules(callbackPort: number, egress: boolean): FirewallRules[] {
    // An address of this machine, so that containers of both networks can reach it.
    const { gateway } = this.get("open");
    return KINDS.map((kind) => ({
      bridge: this.get(kind).bridge,
      gateway,
      callbackPort,
      egress: kind === "open" && egress,
    }));
  }

  /** Makes those that are gone again, with the addresses that they had: the runner listens there. */
  ensure(): Promise<void> {
    this.#restoring ??= this.#restore().finally(() => {
      this.#restoring = undefined;
    });
    return this.#restoring;
  }

  async close(): Promise<void> {
    for (const { name } of Object.values(this.#networks)) await closeNetwork(this.#docker, name);
  }

  async #restore(): Promise<void> {
    for (const kind of KINDS) {
      const network = this.get(kind);
      if (await hasNetwork(this.#docker, network.name)) continue;
      this.#log.warn("the containers' network was gone, making it again", {
        network: network.name,
      });
      await openNetwork(this.#docker, this.#runner, kind, network);
    }
  }
}
