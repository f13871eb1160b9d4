/**
 * The firewall for containers: they may reach the runner's callback server and the public internet,
 * but not the rest of this machine, its private network, or a cloud's metadata service. Docker has
 * no such rules of its own.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { NOT_PUBLIC } from "../../../../src/lib/public-address.ts";
import { retry } from "../../../../src/lib/retry.ts";
import { type Failure, ofMachine } from "../../../../src/run/failure.ts";
import type { Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";

const run = promisify(execFile);

/** Docker's chain for rules that apply before its own. */
const DOCKER_USER = "DOCKER-USER";

/**
 * Packets from a bridge pass INPUT to this machine and FORWARD to others. DOCKER-USER is Docker's place
 * for such rules and stays the first in FORWARD; but Docker takes its jump away for a moment whenever
 * anyone creates a network, and a direct one holds meanwhile.
 */
const HOOKS = ["INPUT", "FORWARD", DOCKER_USER];

/** Leads packets to other machines to Docker's chain. */
const FORWARD_JUMP = `FORWARD -j ${DOCKER_USER}`;

/** A machine of a cluster has tens of thousands of rules, of about 100 bytes each. */
const LIST_BYTES = 64 * 1024 * 1024;

/** Waits up to 5 s if another program holds the iptables lock. */
const LOCK_WAIT = ["-w", "5"];

export const NO_FIREWALL = "containers could reach this machine and its private network";
export const FIREWALL_ADVICE =
  "Run the runner as root with iptables installed, or with --firewall off if all models are trusted.";

export interface FirewallRules {
  /** The bridge of the containers; also names the chain. */
  bridge: string;
  gateway: string;
  callbackPort: number;
  egress: boolean;
}

/** Why this machine cannot have the rules; undefined if it can. */
export async function firewallProblem(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "the runner is not root and cannot set firewall rules";
  try {
    await run("iptables", [...LOCK_WAIT, "-n", "-L", DOCKER_USER]);
    return undefined;
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (missing) return "iptables is not installed";
    return `Docker does not manage iptables here (there is no chain ${DOCKER_USER})`;
  }
}

const chainName = (bridge: string): string => `AUSPEX-${bridge}`;

/**
 * Installs the rules in one transaction, before any container is on the bridge.
 * @returns all rules as the system lists them afterwards
 */
async function installFirewall({
  bridge,
  gateway,
  callbackPort,
  egress,
}: FirewallRules): Promise<string[]> {
  const chain = chainName(bridge);
  const rules = [
    // Accepts only replies to connections from this machine. A container's own connections are
    // checked packet by packet, so that none survives from a time without rules.
    "-m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY -j RETURN",
    `-d ${gateway}/32 -p tcp --dport ${callbackPort} -j ACCEPT`,
    "-m addrtype --dst-type LOCAL -j REJECT",
    ...NOT_PUBLIC.map((range) => `-d ${range} -j REJECT`),
    egress ? "-j RETURN" : "-j REJECT",
  ];
  const table = ["*filter", `:${chain} - [0:0]`, ...rules.map((rule) => `-A ${chain} ${rule}`)];
  await restore([...table, "COMMIT", ""].join("\n"));
  // Docker's chain may have been removed with its other rules.
  await succeeds("-N", DOCKER_USER);
  const listed = await listRules();
  for (const jump of jumpsOf(bridge)) {
    if (!listed.includes(`-A ${jump}`))
      await run("iptables", [...LOCK_WAIT, "-I", ...jump.split(" ")]);
  }
  return listRules();
}

/** Returns the rules of a bridge's own chain, among all. */
const chainIn = (listed: string[], bridge: string): string =>
  listed.filter((line) => line.split(" ")[1] === chainName(bridge)).join("\n");

/** Whether all rules are in place and packets from the bridge still pass them. */
const isIntact = (listed: string[], bridge: string, expected: string): boolean =>
  chainIn(listed, bridge) === expected &&
  jumpsOf(bridge).every((jump) => listed.includes(`-A ${jump}`));

async function removeFirewall({ bridge }: FirewallRules): Promise<void> {
  const chain = chainName(bridge);
  for (const hook of HOOKS) await succeeds("-D", ...jumpFrom(hook, bridge).split(" "));
  await succeeds("-F", chain);
  await succeeds("-X", chain);
}

const jumpFrom = (hook: string, bridge: string) => `${hook} -i ${bridge} -j ${chainName(bridge)}`;

const jumpsOf = (bridge: string) => [...HOOKS.map((hook) => jumpFrom(hook, bridge)), FORWARD_JUMP];

/** Lists all chains at once: a process for each rule takes most of a check's time. */
const listRules = async (): Promise<string[]> =>
  (await run("iptables", [...LOCK_WAIT, "-S"], { maxBuffer: LIST_BYTES })).stdout.split("\n");

const succeeds = (...args: string[]): Promise<boolean> =>
  run("iptables", [...LOCK_WAIT, ...args]).then(
    () => true,
    () => false,
  );

async function restore(table: string): Promise<void> {
  const child = spawn("iptables-restore", ["--noflush", ...LOCK_WAIT], { stdio: "pipe" });
  // iptables-restore may exit before it has read everything: its exit code says why.
  child.stdin.on("error", () => {}).end(table);
  const [[code], complaint] = await Promise.all([once(child, "exit"), text(child.stderr)]);
  if (code !== 0) throw new Error(`iptables-restore: ${complaint.trim()}`);
}

const GONE =
  "the firewall between containers and this machine's private network is missing and cannot be restored";
const ADVICE = "See the runner's log";

/**
 * Docker removes and inserts its own jump for each network that anyone creates, and another runner
 * on this machine restores the same one: a rule may be missing for a moment after it was restored.
 */
const RESTORE = { attempts: 4, baseMs: 100, maxMs: 400, isRetryable: () => true };

interface FirewallGuardOptions {
  /** Returns the rules of all bridges that containers may be on. */
  rules: () => FirewallRules[];
  /** The pause between two checks. */
  intervalMs: number;
  /** Called if the firewall is gone and cannot be restored: all containers must be killed. */
  onBreach: (reason: Failure) => void;
  log: Log;
}

/**
 * Keeps the firewall intact while the runner runs, since other programs flush tables (a restart of
 * Docker or firewalld, an operator's script). It is checked before each start and regularly, and
 * restored; if that fails, no container may start and none may continue.
 */
export class FirewallGuard {
  readonly #options: FirewallGuardOptions;
  /** The installed rules as the system lists them, by bridge. */
  readonly #installed = new Map<string, string>();
  readonly #removed = new AbortController();
  #checking: Promise<void> | undefined;
  #stop = () => {};

  constructor(options: FirewallGuardOptions) {
    this.#options = options;
  }

  async install(): Promise<void> {
    await this.#checked();
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
  async ensure(): Promise<void> {
    const bridges = this.#options.rules().map(({ bridge }) => bridge);
    await this.#checked();
    // A check that began before a bridge was there has left it out.
    if (!bridges.every((bridge) => this.#installed.has(bridge))) await this.#checked();
  }

  async remove(): Promise<void> {
    await this.stop();
    for (const rules of this.#options.rules()) await removeFirewall(rules);
  }

  #checked(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { log } = this.#options;
    // Rules that cannot be listed count as missing.
    const listed = this.#installed.size > 0 ? await listRules().catch(() => []) : [];
    for (const rules of this.#options.rules()) {
      const installed = this.#installed.get(rules.bridge);
      if (installed !== undefined) {
        if (isIntact(listed, rules.bridge, installed)) continue;
        log.warn("the containers' firewall rules were missing, restoring them", {
          bridge: rules.bridge,
        });
      }
      try {
        const { signal } = this.#removed;
        this.#installed.set(
          rules.bridge,
          await retry(() => reinstall(rules), { ...RESTORE, signal }),
        );
      } catch (cause) {
        if (!this.#removed.signal.aborted) log.error(GONE, { bridge: rules.bridge, error: cause });
        throw ofMachine(`${GONE}. ${ADVICE}`, { cause });
      }
    }
  }
}

/** @returns the rules of the bridge's chain as the system lists them */
async function reinstall(rules: FirewallRules): Promise<string> {
  const listed = await installFirewall(rules);
  const installed = chainIn(listed, rules.bridge);
  if (installed === "" || !isIntact(listed, rules.bridge, installed))
    throw new Error("the rules disappear again");
  return installed;
}
