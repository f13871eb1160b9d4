/**
 * The containers of the process before this one. Each counts, with its GPUs, until it has ended or is
 * handed on; then it is one of this process's.
 */

import { type RetryOptions, retry } from "../../../src/lib/retry.ts";
import type { ContainerState } from "../../../src/protocol/runner-state.ts";
import { messageOf } from "../control-plane/error.ts";
import type { Lease, Ledger } from "../devices/ledger.ts";
import type { Engine } from "../engines/engine.ts";
import type { InputFiles } from "../files/input-files.ts";
import type { Log } from "../lib/log.ts";
import type { HandedContainer, HeldContainer } from "../succession/messages.ts";
import type { Predecessor } from "../succession/predecessor.ts";
import type { CallbackServer } from "./callback-server.ts";

/** Its ports are free when it says so; another program may have been as quick. */
const LISTEN = { attempts: 5, baseMs: 100, maxMs: 1_000, isRetryable: () => true };
/** Docker may be restarted meanwhile. */
const SWEEP = {
  attempts: Number.POSITIVE_INFINITY,
  baseMs: 1_000,
  maxMs: 30_000,
  isRetryable: () => true,
};

export interface InheritanceOptions {
  ledger: Ledger;
  predecessor: Pick<Predecessor, "state" | "onChange" | "onContainer" | "released" | "ended">;
  server: Pick<CallbackServer, "listenAt" | "ports">;
  engine: Pick<Engine, "letThrough" | "predecessorEnded">;
  inputs: Pick<InputFiles, "predecessorEnded">;
  log: Log;
  adopt: (handed: HandedContainer, lease: Lease) => void;
  /** Stops containers of these names once nothing runs in them. */
  retire: (names: readonly string[]) => void;
  onChange: () => void;
}

export class Inheritance {
  readonly #options: InheritanceOptions;
  /** By the container's name. */
  readonly #leases = new Map<string, Lease>();
  readonly #adopted = new Map<string, HandedContainer>();

  /** To be made when the ledger knows the GPUs, and before anything is leased. */
  constructor(options: InheritanceOptions) {
    this.#options = options;
    const { predecessor } = options;
    predecessor.onChange = () => this.#sync();
    predecessor.onContainer = (handed) => this.#adopt(handed);
    this.#sync();
  }

  /** Whether the process is still there. */
  get isPending(): boolean {
    return this.#options.predecessor.state !== undefined;
  }

  /** As the control plane may know them: nothing can be placed there. */
  states(): ContainerState[] {
    return this.#held().map(({ state }) => ({ ...state, phase: "stopping" }));
  }

  /**
   * Resolves when the process has ended, and nothing of it is left but what was handed on.
   * @throws the signal's reason
   */
  async settled(stop: AbortSignal): Promise<void> {
    const { predecessor, engine, inputs, log, onChange } = this.#options;
    await predecessor.released();
    await this.#listen(stop);
    await predecessor.ended;
    const adopted = [...this.#adopted.values()].map(({ handle }) => handle.id);
    const again = { ...SWEEP, signal: stop, onRetry: this.#onFailure };
    await retry(async () => engine.predecessorEnded?.(adopted), again);
    for (const lease of this.#leases.values()) lease.release();
    this.#leases.clear();
    await retry(() => inputs.predecessorEnded(), again);
    log.info("the process before this one has ended", { containers: adopted.length });
    onChange();
  }

  readonly #onFailure: RetryOptions["onRetry"] = (error) => {
    this.#options.log.error("could not remove what the process before this one has left", {
      error: messageOf(error),
    });
  };

  /** Its containers call it there; only this process has what they call for. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { server, engine, log, retire } = this.#options;
    for (const [port, callers] of Map.groupBy(this.#adopted.values(), calledPort)) {
      await retry(() => server.listenAt(port), { ...LISTEN, signal }).catch((error: unknown) => {
        const why =
          "containers of the process before this one cannot call this one: they will be replaced when they are idle";
        log.error(why, { error: messageOf(error) });
        // What they say there somebody else would hear.
        retire(callers.map(({ name }) => name));
      });
    }
    // If it fails, the firewall's guard says so.
    await engine.letThrough?.(server.ports).catch(() => {});
  }

  #held(): HeldContainer[] {
    const { containers = [] } = this.#options.predecessor.state ?? {};
    return containers.filter(({ state }) => !this.#adopted.has(state.name));
  }

  #sync(): void {
    const { ledger, predecessor, onChange } = this.#options;
    // Once it has ended, what it may have left is looked for first.
    if (!predecessor.state) return;
    const held = this.#held();
    const names = new Set(held.map(({ state }) => state.name));
    for (const [name, lease] of this.#leases) {
      if (names.has(name)) continue;
      this.#leases.delete(name);
      lease.release();
    }
    for (const { state, hardware, gpus } of held) {
      if (!this.#leases.has(state.name))
        this.#leases.set(state.name, ledger.taken(state.name, hardware, gpus));
    }
    onChange();
  }

  #adopt(handed: HandedContainer): void {
    const { ledger, adopt } = this.#options;
    const { name, hardware } = handed;
    const lease = this.#leases.get(name) ?? ledger.taken(name, hardware, []);
    this.#leases.delete(name);
    this.#adopted.set(name, handed);
    adopt(handed, lease);
  }
}

/** Where it calls the process before. */
const calledPort = ({ upload_url }: HandedContainer): number => Number(new URL(upload_url).port);
