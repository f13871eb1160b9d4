/** A runner of the storm, which is killed, stopped and drained, and started again each time. */
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunnerOptions, type RunnerProcess, startRunner } from "../../../src/dev/runner.ts";
import { processesIn } from "../../processes/processes-in.ts";

/** Longer than it may take for what it runs, s. */
const DRAIN_SECONDS = 5;
/** A model that is cancelled has so long, s: less than the control plane waits. */
const CANCEL_SECONDS = 2;
const STOP_MS = 30_000;

export class StormRunner {
  readonly #options: RunnerOptions;
  #process: RunnerProcess;
  /** It is to end now. */
  #ending = false;
  /** How it ended when nobody had told it to. */
  readonly deaths: string[] = [];

  constructor(options: RunnerOptions) {
    const { stateFolder, name } = options;
    this.#options = {
      ...options,
      environment: {
        AUSPEX_CANCEL_SECONDS: String(CANCEL_SECONDS),
        AUSPEX_DRAIN_SECONDS: String(DRAIN_SECONDS),
        ...options.environment,
      },
      onLine: (line) => {
        appendFileSync(join(stateFolder, `../${name}.log`), `${line}\n`);
        if (/unhandled|uncaught/i.test(line)) this.deaths.push(line);
      },
    };
    this.#process = this.#start();
  }

  get name(): string {
    return this.#options.name;
  }

  get folder(): string {
    return this.#options.stateFolder;
  }

  /** Of its models. */
  processes(): number[] {
    return processesIn(this.folder);
  }

  async kill(downMs: number): Promise<void> {
    await this.#end("SIGKILL");
    await sleep(downMs);
    this.#process = this.#start();
  }

  async pause(ms: number): Promise<void> {
    this.#process.process.kill("SIGSTOP");
    await sleep(ms);
    this.#process.process.kill("SIGCONT");
  }

  async drain(downMs: number): Promise<void> {
    await this.#end("SIGTERM");
    await sleep(downMs);
    this.#process = this.#start();
  }

  /** Ends it for good. @returns whether it ended well */
  async finish(): Promise<boolean> {
    this.#ending = true;
    await this.#process.stop(STOP_MS);
    return this.#process.process.exitCode === 0;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#ending = true;
    const { process } = this.#process;
    const exited = once(process, "exit");
    process.kill(signal);
    await exited;
    this.#ending = false;
  }

  #start(): RunnerProcess {
    const started = startRunner(this.#options);
    started.process.once("exit", (code, signal) => {
      if (this.#ending) return;
      this.deaths.push(`exited with ${signal ?? code}`);
    });
    return started;
  }
}
