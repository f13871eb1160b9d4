/**
 * Keeps the firewall intact while the runner runs, since other programs flush tables (a restart of
 * Docker or firewalld, an operator's script). It is checked before each start and regularly, and
 * restored; if that fails, no container may start and none may continue.
 */

import { retry } from "../../../../src/lib/retry.ts";
import { type Failure, ofMachine } from "../../lib/failure.ts";
import type { Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import {
  type FirewallRules,
  installFirewall,
  isFirewallIntact,
  removeFirewall,
} from "./firewall.ts";

const GONE =
  "the firewall between containers and this machine's private network is gone and cannot be restored";
const ADVICE = "see the runner's log";

/**
 * Docker removes and inserts its own jump for each network that anyone creates, and another runner
 * on this machine restores the same one: a rule may be missing for a moment after it was restored.
 */
const RESTORE = { attempts: 4, baseMs: 100, maxMs: 400, isRetryable: () => true };

export interface FirewallGuardOptions {
  rules: FirewallRules[];
  /** The pause between two checks. */
  intervalMs: number;
  /** Called if the firewall is gone and cannot be restored: all containers must be killed. */
  onBreach: (reason: Failure) => void;
  log: Log;
}

export class FirewallGuard {
  readonly #options: FirewallGuardOptions;
  /** The installed rules as the system lists them, in order. */
  readonly #installed: string[] = [];
  readonly #removed = new AbortController();
  #checking: Promise<void> | undefined;
  #stop = () => {};

  constructor(options: FirewallGuardOptions) {
    this.#options = options;
  }

  async install(): Promise<void> {
    for (const rules of this.#options.rules) this.#installed.push(await installFirewall(rules));
    this.#stop = repeat(this.#options.intervalMs, () =>
      this.ensure().catch((reason: Failure) => {
        if (!this.#removed.signal.aborted) this.#options.onBreach(reason);
      }),
    );
  }

  /** Ends the checks; the rules stay. */
  async stop(): Promise<void> {
    this.#stop();
    this.#removed.abort();
    // A check in progress would restore the rules.
    await this.#checking?.catch(() => {});
  }

  /** @throws Failure if the rules are missing and cannot be restored */
  ensure(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async remove(): Promise<void> {
    await this.stop();
    for (const rules of this.#options.rules) await removeFirewall(rules);
  }

  async #check(): Promise<void> {
    const { log, rules: all } = this.#options;
    for (const [index, rules] of all.entries()) {
      if (await isFirewallIntact(rules, this.#installed[index] ?? "")) continue;
      log.warn("the containers' firewall was gone, restoring it", { bridge: rules.bridge });
      try {
        const { signal } = this.#removed;
        this.#installed[index] = await retry(() => restore(rules), { ...RESTORE, signal });
      } catch (cause) {
        if (!this.#removed.signal.aborted) log.error(GONE, { bridge: rules.bridge, error: cause });
        throw ofMachine(`${GONE}: ${ADVICE}`, { cause });
      }
    }
  }
}

/** @returns the rules as the system lists them */
async function restore(rules: FirewallRules): Promise<string> {
  const installed = await installFirewall(rules);
  if (!(await isFirewallIntact(rules, installed))) throw new Error("the rules disappear again");
  return installed;
}
