/**
 * Reads the settings from flags, the environment and a file, in this order of precedence, and
 * validates them once.
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import type { z } from "zod";
import { MAX_CONTAINERS } from "../../../src/protocol/runner-state.ts";
import { settingsHash } from "../containers/adoption.ts";
import { type DeviceSource, PretendGpus, SomeDevices } from "../devices/device.ts";
import { NvidiaSmi } from "../devices/nvidia-smi.ts";
import { DEFAULT_SANDBOX, type EngineOptions, type Sandbox } from "../engines/options.ts";
import type { FileOptions } from "../files/input-files.ts";
import { messageOf } from "../lib/error.ts";
import type { WeightOptions } from "../weights/weights.ts";
import {
  flagOf,
  type ParsedSettings,
  SETTING_NAMES,
  settingsSchema,
  variableOf,
} from "./settings.ts";

export type Settings = Omit<ParsedSettings, "token_file">;

/** The problems of the settings, one line each, for the operator. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

type Raw = Record<string, unknown>;
export type Flags = Record<string, string | boolean | undefined>;
export type Environment = Record<string, string | undefined>;

export const SETTING_FLAGS: ParseArgsOptionsConfig = Object.fromEntries(
  SETTING_NAMES.filter((name) => name !== "token").map((name) => [
    flagOf(name),
    { type: "string" },
  ]),
);

export function readSettings(flags: Flags, environment: Environment): Settings {
  const file = flags.config ?? environment.AUSPEX_CONFIG;
  const given = {
    ...(typeof file === "string" ? readSettingsFile(file) : {}),
    ...pick((name) => environment[variableOf(name)]),
    ...pick((name) => flags[flagOf(name)]),
  };
  if (typeof given.token_file === "string") given.token = readText(given.token_file);
  const result = settingsSchema.safeParse(given);
  if (!result.success) throw new SettingsError(describeIssues(result.error, given));
  const { token_file: _, ...settings } = result.data;
  if (settings.engine === "process" && settings.models === undefined) {
    throw new SettingsError(`${sourcesOf("models")}: required by the process engine`);
  }
  return settings;
}

/** How much runs at a time. */
export interface Capacity {
  slots: number;
  containers: number;
}

/**
 * A GPU runs one prediction at a time, unless the model says more: one slot per GPU keeps all of them busy
 * and claims no job that would only wait here.
 * @param gpus the number of GPUs for containers
 */
export function capacityOf(settings: Settings, gpus: number): Capacity {
  const slots = settings.slots ?? Math.max(gpus, 1);
  const containers = Math.min(Math.max(slots, gpus), MAX_CONTAINERS);
  return { slots, containers: settings.containers ?? containers };
}

export function gpuSource({ pretend_gpus, gpu_devices }: Settings): DeviceSource {
  const source = pretend_gpus ? new PretendGpus(pretend_gpus) : new NvidiaSmi();
  return gpu_devices ? new SomeDevices(source, gpu_devices) : source;
}

/** The settings that concern the engine. */
export function engineOptions(settings: Settings, { containers }: Capacity): EngineOptions {
  const state = stateOf(settings);
  if (settings.engine === "process")
    return { kind: "process", models: settings.models ?? "", state };
  return {
    kind: "docker",
    deployment: settings.url,
    state,
    free_bytes: bytes(settings.disk_free_gb),
    socket: settings.docker_socket,
    firewall: settings.firewall,
    containers,
    sandbox: sandboxOf(settings),
  };
}

export const fileOptions = (settings: Settings): FileOptions => ({
  cache: settings.cache ?? path.join(homedir(), ".cache", "auspex-runner", settings.name),
  cache_bytes: gigabytesToBytes(settings.cache_gb),
  cache_ms: settings.cache_hours * 3_600_000,
  max_file_bytes: gigabytesToBytes(settings.max_file_gb),
  fetch_allow: settings.fetch_allow,
});

export const weightOptions = (settings: Settings): WeightOptions => ({
  directory: path.join(stateOf(settings), "weights"),
  bytes: gigabytesToBytes(settings.weights_gb),
  url: settings.url,
});

/** @returns what only one process at a time may use */
export const identityOf = (settings: Settings, { kind, ...engine }: EngineOptions): string =>
  JSON.stringify("socket" in engine ? [kind, engine.socket, settings.name] : [kind, engine.state]);

/** @returns the folder in which a reload describes idle containers, and the hash of their settings */
export function adoptionOf(settings: Settings, engine: EngineOptions) {
  const { name, url, gpu_devices, pretend_gpus } = settings;
  const { cache, fetch_allow } = fileOptions(settings);
  const alike = { engine, name, url, gpu_devices, pretend_gpus, cache, fetch_allow };
  return { folder: stateOf(settings), settings: settingsHash(alike) };
}

const stateOf = ({ state, name }: Settings): string =>
  state ?? path.join(homedir(), ".local", "state", "auspex-runner", name);

const sandboxOf = (settings: Settings): Sandbox => ({
  memory_bytes: bytes(settings.memory_gb),
  disk_bytes: bytes(settings.disk_gb),
  cpus: settings.cpus,
  user: settings.user,
  ...runtimesOf(settings),
  shm_bytes: bytes(settings.shm_gb),
  pids: settings.pids ?? DEFAULT_SANDBOX.pids,
  capabilities: settings.capabilities ?? DEFAULT_SANDBOX.capabilities,
  readonly_rootfs: settings.read_only ?? DEFAULT_SANDBOX.readonly_rootfs,
  egress: settings.egress ?? DEFAULT_SANDBOX.egress,
  dns: settings.dns ?? DEFAULT_SANDBOX.dns,
});

/** An entry for a hardware class takes precedence over the general one. */
function runtimesOf({ runtime = [], hardware }: Settings) {
  const named = hardware.flatMap((name) => {
    const entry = runtime.find((one) => one.startsWith(`${name}=`));
    return entry === undefined ? [] : [[name, entry.slice(name.length + 1)] as const];
  });
  const [[, first] = []] = named;
  const isGeneralUsed = named.length < hardware.length;
  const general = isGeneralUsed ? runtime.find((one) => !one.includes("=")) : first;
  return { runtime: general, class_runtimes: new Map(named.filter(([, one]) => one !== general)) };
}

const gigabytesToBytes = (gigabytes: number) => Math.floor(gigabytes * 1024 ** 3);
const bytes = (gigabytes: number | undefined) => gigabytes && gigabytesToBytes(gigabytes);

/** An empty variable counts as unset: unit files and compose files leave variables out this way. */
const pick = (value: (name: string) => unknown): Raw =>
  Object.fromEntries(
    SETTING_NAMES.map((name) => [name, value(name)]).filter(
      ([, given]) => given !== undefined && given !== "",
    ),
  );

function readSettingsFile(file: string): Raw {
  try {
    const value: unknown = JSON.parse(readText(file));
    if (typeof value === "object" && value !== null) return { ...value };
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    // The parser's message quotes the text, which may contain the token.
    throw new SettingsError(`${file}: not valid JSON`);
  }
  throw new SettingsError(`${file}: settings must be a JSON object`);
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new SettingsError(messageOf(error));
  }
}

const describeIssues = (error: z.ZodError, given: Raw): string =>
  error.issues
    .map(({ code, path: [name], message, ...issue }) => {
      if (code === "unrecognized_keys" && "keys" in issue) return message;
      const missing = given[String(name)] === undefined;
      return `${sourcesOf(String(name))}: ${missing ? "is required" : message}`;
    })
    .join("\n");

/** Returns a setting's name, flag and variable, for error messages. */
function sourcesOf(name: string): string {
  const flag = name === "token" ? "--token-file" : `--${flagOf(name)}`;
  return `${name} (${flag}, ${variableOf(name)})`;
}

/** @throws SettingsError */
export function parseArguments(args?: string[]) {
  const options = {
    ...SETTING_FLAGS,
    config: { type: "string" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
    version: { type: "boolean", short: "v" },
  } as const;
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    // Node adds a hint about positional arguments, which have another cause here: a misspelled flag.
    const [problem] = messageOf(error).split(/\.\s/);
    throw new SettingsError(`${problem}; see --help`);
  }
}

/** The text of `auspex-runner --help`, generated from the settings' descriptions. */
export function help(): string {
  const rows = Object.entries(settingsSchema.shape).map(([name, schema]) => [
    name === "token" ? "" : `--${flagOf(name)}`,
    variableOf(name),
    schema.description ?? "",
  ]);
  const lines = [
    ...rows,
    ["--config", "AUSPEX_CONFIG", "JSON file with any of these settings"],
  ].map(
    ([flag = "", variable = "", text = ""]) =>
      `  ${flag.padEnd(17)} ${variable.padEnd(22)} ${text}`,
  );
  return `auspex-runner [run]          run predictions of an Auspex deployment on this machine
auspex-runner check [--json] check this machine and print how to fix problems
auspex-runner digest FOLDER  print the digest of a model folder (process engine)
auspex-runner --version | --help

Settings can be given as flags, as environment variables, or in a file (with _ for -). Flags take
precedence over the environment, and the environment over the file.

${lines.join("\n")}`;
}
