#!/usr/bin/env node
/** The command line of the runner: reads what is asked for and wires it. */
import { parseArgs } from "node:util";
import { Agent } from "./agent.ts";
import { checkBox, formatFindings } from "./check/check.ts";
import { readMachine } from "./check/hardware.ts";
import {
  type Config,
  ConfigError,
  engineOptions,
  FLAGS,
  fileOptions,
  readConfig,
} from "./config/config.ts";
import { help } from "./config/help.ts";
import { createExecutor } from "./containers/create.ts";
import { ControlPlane } from "./control-plane/client.ts";
import { messageOf, Refused } from "./control-plane/error.ts";
import { checkEngine } from "./engines/docker/check.ts";
import { folderDigest } from "./engines/process/model-folder.ts";
import { createLog } from "./lib/log.ts";
import { surviveUnhandledRejections } from "./lib/unhandled-rejections.ts";
import { upload } from "./upload/command.ts";
import { readUploadOptions, UPLOAD_FLAGS } from "./upload/options.ts";
import { VERSION } from "./version.ts";

async function main(): Promise<number> {
  const { values, positionals } = parseArguments();
  const [command = "run", argument] = positionals;
  if (values.help) return print(help());
  if (values.version) return print(VERSION);
  switch (command) {
    case "run":
      return run(readConfig(values, process.env));
    case "check":
      return check(readConfig(values, process.env), values.json === true);
    case "digest":
      if (argument === undefined) throw new ConfigError("digest: which folder?");
      return print(await folderDigest(argument));
    case "upload":
      return upload(await readUploadOptions(argument, values, process.env), process.env);
    default:
      throw new ConfigError(`${command}: no such command; see --help`);
  }
}

function parseArguments() {
  const options = {
    ...FLAGS,
    ...UPLOAD_FLAGS,
    config: { type: "string" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
    version: { type: "boolean", short: "v" },
  } as const;
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    throw new ConfigError(messageOf(error));
  }
}

async function run(config: Config): Promise<number> {
  const log = createLog({ level: config.log_level, format: config.log_format });
  const { name, hardware, engine, slots } = config;
  const { stop, kill } = signals();
  surviveUnhandledRejections(log);
  log.info("starting", { version: VERSION, name, hardware, engine, slots, url: config.url });
  const controlPlane = new ControlPlane(config);
  const agent = new Agent({
    runner: { name, hardware, engine, slots },
    machine: await readMachine(),
    drainSeconds: config.drain_seconds,
    controlPlane,
    executor: createExecutor({
      engine: engineOptions(config),
      name,
      slots,
      containers: config.containers,
      controlPlane,
      files: fileOptions(config),
      log,
      timing: { cancelGrace: config.cancel_seconds * 1_000 },
    }),
    log,
    stop,
    kill,
  });
  try {
    await agent.run();
    log.info("stopped");
    return 0;
  } catch (error) {
    log.error(messageOf(error), error instanceof Refused ? {} : { error });
    return 1;
  }
}

/** The first signal drains, the second ends it now, the third does not ask. */
function signals(): { stop: AbortSignal; kill: AbortSignal } {
  const [stop, kill] = [new AbortController(), new AbortController()];
  const onSignal = () => {
    if (kill.signal.aborted) process.exit(1);
    (stop.signal.aborted ? kill : stop).abort();
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  whenNpxEnds(() => stop.abort());
  return { stop: stop.signal, kill: kill.signal };
}

const PARENT_CHECK_MS = 500;

/** A signal to npx ends the shell between it and us, and does not get here: its end is noticed. */
function whenNpxEnds(end: () => void): void {
  if (process.env.npm_lifecycle_event !== "npx") return;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    end();
  }, PARENT_CHECK_MS);
  timer.unref();
}

async function check(config: Config, json: boolean): Promise<number> {
  const findings = await checkBox(config, () => checkEngine(engineOptions(config)));
  print(json ? JSON.stringify(findings, null, 2) : formatFindings(findings));
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function fail(error: unknown): number {
  process.stderr.write(`auspex-runner: ${messageOf(error)}\n`);
  return error instanceof ConfigError ? 2 : 1;
}

// Not by itself: a container that did not let go in time must not hold the process.
process.exit(await main().catch(fail));
