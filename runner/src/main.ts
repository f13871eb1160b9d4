#!/usr/bin/env node
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { sleep } from "../../src/lib/timeout.ts";
import { Failure } from "../../src/run/failure.ts";
/** The `auspex-runner` command line. */
import { Agent } from "./agent.ts";
import { assertNode, checkMachine, formatFindings } from "./check/check.ts";
import { checkEngine } from "./check/docker.ts";
import { readMachine } from "./check/hardware.ts";
import { createExecutor } from "./containers/create-executor.ts";
import { ControlPlane } from "./control-plane/client.ts";
import { GpuMeter } from "./devices/gpu-meter.ts";
import { DRIVER_ADVICE } from "./devices/nvidia-smi.ts";
import { folderDigest } from "./engines/process/model-folder.ts";
import { messageOf, RegistrationRefused } from "./lib/error.ts";
import { createLog, surviveUnhandledRejections } from "./lib/log.ts";
import { LogRing } from "./lib/log-ring.ts";
import { VERSION } from "./lib/version.ts";
import { serveMetrics } from "./metrics/server.ts";
import {
  adoptionOf,
  capacityOf,
  engineOptions,
  fileOptions,
  gpuSource,
  help,
  identityOf,
  parseArguments,
  readSettings,
  type Settings,
  SettingsError,
  weightOptions,
} from "./settings/read-settings.ts";

/** The exit code after a reload (EX_TEMPFAIL), by which `Restart=` in runner/systemd recognizes a reload. */
const RELOADED = 75;

async function main(): Promise<number> {
  const { values, positionals } = parseArguments();
  const [command = "run", argument] = positionals;
  if (values.help) return print(help());
  if (values.version) return print(VERSION);
  if (command !== "check") assertNode(process.versions.node);
  switch (command) {
    case "run":
      return run(readSettings(values, process.env));
    case "check":
      return check(readSettings(values, process.env), values.json === true);
    case "digest":
      if (argument === undefined) throw new SettingsError("digest: missing folder");
      return print(await folderDigest(argument));
    default:
      throw new SettingsError(`unknown command ${command}; see --help`);
  }
}

async function run(settings: Settings): Promise<number> {
  const ring = new LogRing([settings.token]);
  const log = createLog({ level: settings.log_level, format: settings.log_format, ring });
  const { name, hardware, engine, metrics_address } = settings;
  const { stop, kill, reload } = signals();
  surviveUnhandledRejections(log);
  const gpus = gpuSource(settings);
  const found = await gpus.list().catch((error: unknown) => {
    log.error(messageOf(error), { advice: DRIVER_ADVICE });
    return [];
  });
  const capacity = capacityOf(settings, found.length);
  const { slots } = capacity;
  const { url } = settings;
  const { pid } = process;
  log.info("starting", { version: VERSION, pid, name, hardware, engine, ...capacity, url });
  const options = engineOptions(settings, capacity);
  const isAlone = await lock(identityOf(settings, options), stop, () =>
    log.warn(
      "another process of this runner is running; waiting for it to exit. To update it, send it SIGUSR2. To run both, set another --name",
    ),
  );
  if (!isAlone) return 0;
  const controlPlane = new ControlPlane(settings);
  const meter = new GpuMeter();
  if (found.some(({ pretend }) => !pretend)) await meter.start();
  const executor = createExecutor({
    engine: options,
    gpus,
    meter,
    name,
    adoption: adoptionOf(settings, options),
    ...capacity,
    controlPlane,
    files: fileOptions(settings),
    weights: weightOptions(settings),
    log,
    timing: { cancelGraceMs: settings.cancel_seconds * 1_000 },
  });
  // The pool learns of a reading at once, so that the gauges of the deployment are as old as it.
  meter.onReading = () => executor.onChange();
  const agent = new Agent({
    runner: { name, hardware, engine, slots },
    machine: await readMachine(found),
    drainSeconds: settings.drain_seconds,
    controlPlane,
    executor,
    meter,
    log,
    ring,
    reload,
    stop,
    kill,
  });
  try {
    if (metrics_address) {
      const { slots } = agent;
      await serveMetrics({ address: metrics_address, runner: name, executor, slots });
      log.info("serving metrics", metrics_address);
    }
    await agent.run();
    log.info("stopped");
    return reload.aborted && !stop.aborted ? RELOADED : 0;
  } catch (error) {
    // `RegistrationRefused` and `Failure` say what to do; any other error is a defect and logged in full.
    const isKnown = error instanceof RegistrationRefused || error instanceof Failure;
    log.error(messageOf(error), isKnown ? {} : { error });
    return 1;
  }
}

/**
 * The first SIGTERM or SIGINT drains the runner, the second ends it, the third exits at once. SIGUSR2 reloads
 * it; not SIGHUP, which a process also gets when its terminal closes.
 */
function signals() {
  const reload = new AbortController();
  const [stop, kill] = [new AbortController(), new AbortController()];
  const onSignal = () => {
    if (kill.signal.aborted) process.exit(1);
    (stop.signal.aborted ? kill : stop).abort();
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  process.on("SIGUSR2", () => reload.abort());
  whenNpxEnds(() => stop.abort());
  return { stop: stop.signal, kill: kill.signal, reload: reload.signal };
}

const PARENT_CHECK_MS = 500;

/**
 * A signal to npx ends the shell between npx and this process without reaching this process, so
 * watch for the shell's end.
 */
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

async function check(settings: Settings, json: boolean): Promise<number> {
  const findings = await checkMachine(settings, gpuSource(settings), (gpus) => {
    const capacity = capacityOf(settings, gpus.length);
    return checkEngine(engineOptions(settings, capacity), gpus);
  });
  print(json ? JSON.stringify(findings, null, 2) : formatFindings(findings));
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function fail(error: unknown): number {
  process.stderr.write(`auspex-runner: ${messageOf(error)}\n`);
  return error instanceof SettingsError ? 2 : 1;
}

const LOCK_AGAIN_MS = 200;

/**
 * Takes the lock until this process ends, so that only one process of a runner works at a time. On Linux, an
 * abstract socket belongs to one process and disappears with it, however the process ends; elsewhere the lock
 * is always free. Any user of the machine can take it: the lock keeps two processes
 * of one user apart, and proves nothing.
 * @param onWait called once if another process has the lock
 * @returns false when the signal was aborted first
 */
async function lock(what: string, stop: AbortSignal, onWait: () => void): Promise<boolean> {
  for (let tries = 0; !stop.aborted; tries++) {
    if (await tryLock(what)) return true;
    if (tries === 0) onWait();
    await sleep(LOCK_AGAIN_MS, stop);
  }
  return false;
}

async function tryLock(what: string): Promise<boolean> {
  if (process.platform !== "linux") return true;
  const name = `\0auspex-runner-${createHash("sha256").update(what).digest("hex").slice(0, 32)}`;
  const server = createServer((socket) => socket.destroy()).unref();
  try {
    server.listen(name);
    await once(server, "listening");
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return false;
    throw error;
  }
}

// Exit explicitly: a container that has not ended in time must not keep the process alive.
process.exit(await main().catch(fail));
