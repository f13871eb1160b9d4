/**
 * What containers of this runner may reach: its webhook receiver, and the public internet. Not the
 * rest of this machine, not its private network, not the metadata service of a cloud. Docker has
 * no rule for this of its own.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { NOT_PUBLIC } from "../../../../src/lib/public-address.ts";

const run = promisify(execFile);

/** What others are to be asked before they accept anything: Docker's chain for such rules. */
const DOCKER_USER = "DOCKER-USER";

/** What comes from a bridge passes INPUT towards this machine and DOCKER-USER towards others. */
const HOOKS = ["INPUT", DOCKER_USER];

/** By it packets towards others get to Docker's chain. */
const FORWARD_JUMP = ["FORWARD", "-j", DOCKER_USER];

/** Another program may hold the lock of iptables: wait for it for up to 5 s. */
const LOCK_WAIT = ["-w", "5"];

export const NO_FIREWALL = "containers could reach this machine and its private network";
export const FIREWALL_ADVICE =
  "Run the runner as root with iptables installed, or, where all models are trusted, with --firewall off.";

export interface FirewallRules {
  /** The bridge that the containers hang on; also the name of the rules. */
  bridge: string;
  gateway: string;
  callbackPort: number;
  egress: boolean;
}

/** Why this machine cannot have the rules, in words; undefined when it can. */
export async function firewallProblem(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "the runner is not root, so it cannot set firewall rules";
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
 * The rules come whole, in one transaction, and before any container is on the bridge.
 * @returns what the system says that they are: whoever has this knows them again
 */
export async function installFirewall({ bridge, gateway, callbackPort, egress }: FirewallRules) {
  const chain = chainName(bridge);
  const rules = [
    // Answers to what this machine asked of a container. What the container itself has asked is
    // looked at packet by packet: a connection from a time without rules does not outlive it.
    "-m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY -j RETURN",
    `-d ${gateway}/32 -p tcp --dport ${callbackPort} -j ACCEPT`,
    "-m addrtype --dst-type LOCAL -j REJECT",
    ...NOT_PUBLIC.map((range) => `-d ${range} -j REJECT`),
    egress ? "-j RETURN" : "-j REJECT",
  ];
  const table = ["*filter", `:${chain} - [0:0]`, ...rules.map((rule) => `-A ${chain} ${rule}`)];
  await restore([...table, "COMMIT", ""].join("\n"));
  // It may be gone with all else that Docker has set.
  await succeeds("-N", DOCKER_USER);
  const jumps = [...HOOKS.map((hook) => [hook, ...jumpArguments(bridge)]), FORWARD_JUMP];
  for (const jump of jumps) {
    if (!(await succeeds("-C", ...jump))) await run("iptables", [...LOCK_WAIT, "-I", ...jump]);
  }
  return listRules(chain);
}

/** Whether the rules are all there, and what comes from the bridge still passes them. */
export async function isFirewallIntact(
  { bridge }: FirewallRules,
  expected: string,
): Promise<boolean> {
  const checks = await Promise.all([
    ...HOOKS.map((hook) => succeeds("-C", hook, ...jumpArguments(bridge))),
    succeeds("-C", ...FORWARD_JUMP),
    listRules(chainName(bridge)).then(
      (rules) => rules === expected,
      () => false,
    ),
  ]);
  return checks.every(Boolean);
}

/** Rules that somebody else has removed before are no trouble. */
export async function removeFirewall({ bridge }: FirewallRules): Promise<void> {
  const chain = chainName(bridge);
  for (const hook of HOOKS) await succeeds("-D", hook, ...jumpArguments(bridge));
  await succeeds("-F", chain);
  await succeeds("-X", chain);
}

const jumpArguments = (bridge: string) => ["-i", bridge, "-j", chainName(bridge)];

const listRules = async (chain: string): Promise<string> =>
  (await run("iptables", [...LOCK_WAIT, "-S", chain])).stdout;

const succeeds = (...args: string[]): Promise<boolean> =>
  run("iptables", [...LOCK_WAIT, ...args]).then(
    () => true,
    () => false,
  );

async function restore(table: string): Promise<void> {
  const child = spawn("iptables-restore", ["--noflush", ...LOCK_WAIT], { stdio: "pipe" });
  // Gone before it has read all: its exit says why.
  child.stdin.on("error", () => {}).end(table);
  const [[code], complaint] = await Promise.all([once(child, "exit"), text(child.stderr)]);
  if (code !== 0) throw new Error(`iptables-restore: ${complaint.trim()}`);
}
