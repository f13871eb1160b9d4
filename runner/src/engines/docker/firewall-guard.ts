/**
 * The firewall over the runner's whole life: other programs flush tables (a restart of Docker or
 * of firewalld, an operator's script). It is looked at before each start and by a timer, and put
 * back; where it cannot be, nothing may start and nothing may go on.
 */
import { type Failure, internal } from "../../containers/failure.ts";
import type { Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import {
  type FirewallRules,
  installFirewall,
  isFirewallIntact,
  removeFirewall,
} from "./firewall.ts";

const GONE =
  "the firewall that keeps containers off this machine and its private network is gone and cannot be put back";
const ADVICE = "the operator finds the reason in the runner's log";

export interface FirewallGuardOptions {
  rules: FirewallRules[];
  /** Between two looks, ms. */
  intervalMs: number;
  /** Told when there is no firewall and there can be none: what runs must end. */
  onBreach: (reason: Failure) => void;
  log: Log;
}

export class FirewallGuard {
  readonly #options: FirewallGuardOptions;
  /** As the system has them, in the order of the rules. */
  readonly #installed: string[] = [];
  #checking: Promise<void> | undefined;
  #stop = () => {};

  constructor(options: FirewallGuardOptions) {
    this.#options = options;
  }

  async install(): Promise<void> {
    for (const [index, rules] of this.#options.rules.entries()) {
      this.#installed[index] = await installFirewall(rules);
    }
    this.#stop = repeat(this.#options.intervalMs, () =>
      this.ensure().catch((reason: Failure) => this.#options.onBreach(reason)),
    );
  }

  /** @throws Failure when the rules are not there and cannot be put back */
  ensure(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async remove(): Promise<void> {
    this.#stop();
    // One that is under way would put them back.
    await this.#checking?.catch(() => {});
    for (const rules of this.#options.rules) await removeFirewall(rules);
  }

  async #check(): Promise<void> {
    const { rules: all, log } = this.#options;
    for (const [index, rules] of all.entries()) {
      if (await isFirewallIntact(rules, this.#installed[index] ?? "")) continue;
      log.warn("the firewall of the containers was gone: it is put back", { bridge: rules.bridge });
      try {
        const raised = await installFirewall(rules);
        if (!(await isFirewallIntact(rules, raised))) throw new Error("it does not stay");
        this.#installed[index] = raised;
      } catch (cause) {
        log.error(GONE, { bridge: rules.bridge, error: cause });
        throw internal(`${GONE}: ${ADVICE}`, { cause });
      }
    }
  }
}
