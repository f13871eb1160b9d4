/**
 * Keeps the firewall intact while the runner runs, since other programs flush tables (a restart of
 * Docker or firewalld, an operator's script). It is checked before each start and regularly, and
 * restored; if that fails, no container may start and none may continue.
 */

import { retry } from "../../../../src/lib/retry.ts";
import { type Failure, ofMachine } from "../../containers/failure.ts";
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
  /** Between two checks. */
  intervalMs: number;
  /** Called if the firewall is gone and cannot be restored: all containers must be killed. */
  onBreach: (reason: Failure) => void;
  log: Log;
}

export class FirewallGuard {
  readonly #options: Omit<FirewallGuardOptions, "rules">;
  #rules: FirewallRules[];
  /** The installed rules as the system lists them, in order. */
  readonly #installed: string[] = [];
  readonly #removed = new AbortController();
  #checking: Promise<void> | undefined;
  #stop = () => {};

  constructor({ rules, ...options }: FirewallGuardOptions) {
    this.#options = options;
    this.#rules = rules;
  }

  async install(): Promise<void> {
    await this.#install();
    this.#stop = repeat(this.#options.intervalMs, () =>
      this.ensure().catch((reason: Failure) => {
        if (!this.#removed.signal.aborted) this.#options.onBreach(reason);
      }),
    );
  }

  /** Another set of rules, which holds when it resolves. @throws when they cannot be installed */
  async replace(rules: FirewallRules[]): Promise<void> {
    // What is in progress would take the new ones for broken old ones.
    while (this.#checking) await this.#checking.catch(() => {});
    if (this.#removed.signal.aborted) return;
    this.#rules = rules;
    this.#checking = this.#install().finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  /** Guards no more: another process does. */
  async leave(): Promise<void> {
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
    await this.leave();
    for (const rules of this.#rules) await removeFirewall(rules);
  }

  async #install(): Promise<void> {
    for (const [index, rules] of this.#rules.entries())
      this.#installed[index] = await installFirewall(rules);
  }

  async #check(): Promise<void> {
    const { log } = this.#options;
    for (const [index, rules] of this.#rules.entries()) {
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
