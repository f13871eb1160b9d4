/** A runner of the storm, which is killed, stopped and drained, and started again each time. */
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunnerOptions, type RunnerProcess, startRunner } from "../../../src/dev/runner.ts";
import { containers, processes, type Running } from "./models.ts";

/** Longer than a running prediction may take, s. */
const DRAIN_SECONDS = 5;
/** The time that a cancelled model has, s: less than the control plane waits. */
const CANCEL_SECONDS = 2;
const STOP_MS = 30_000;

/** The variable is set in test/projects/shared.ts. */
const { NODE_COMPILE_CACHE } = process.env;

export class StormRunner {
  readonly #options: RunnerOptions;
  #process: RunnerProcess;
  /** The time that the runner stays away, ms, if the storm has ended it. */
  #told: { downMs: number } | undefined;
  /** True if the runner is not started again. */
  #finished = false;
  #isBack = Promise.resolve();
  /** Ends of the runner that the storm did not cause, and other faults of its log. */
  readonly deaths: string[] = [];

  constructor(options: RunnerOptions) {
    const { stateFolder, name } = options;
    this.#options = {
      ...options,
      environment: {
        AUSPEX_CANCEL_SECONDS: String(CANCEL_SECONDS),
        AUSPEX_DRAIN_SECONDS: String(DRAIN_SECONDS),
        ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
        ...options.environment,
      },
      onLine: (line) => {
        appendFileSync(join(stateFolder, `../${name}.log`), `${line}\n`);
        if (/unhandled|uncaught/i.test(line)) this.deaths.push(line);
      },
    };
    this.#process = this.#start();
    // The runner ends well by itself if the storm is interrupted.
    process.once("exit", () => {
      for (const signal of ["SIGCONT", "SIGTERM"] as const) this.#process.process.kill(signal);
    });
  }

  get name(): string {
    return this.#options.name;
  }

  get folder(): string {
    return this.#options.stateFolder;
  }

  /** Whether the runner's models are containers. */
  get isBoxed(): boolean {
    return this.#options.models === undefined;
  }

  get models(): Running {
    return this.isBoxed ? containers(this.name) : processes(this.folder);
  }

  /** Kills the runner. Resolves when it runs again. */
  kill(downMs: number): Promise<void> {
    return this.#end("SIGKILL", downMs);
  }

  drain(downMs: number): Promise<void> {
    return this.#end("SIGTERM", downMs);
  }

  async pause(ms: number): Promise<void> {
    const { process } = this.#process;
    process.kill("SIGSTOP");
    await sleep(ms);
    process.kill("SIGCONT");
  }

  /** Ends the runner for good. @returns whether it ended well */
  async finish(): Promise<boolean> {
    while (this.#told) await this.#isBack;
    this.#finished = true;
    await this.#process.stop(STOP_MS);
    return this.#process.process.exitCode === 0;
  }

  #end(signal: NodeJS.Signals, downMs: number): Promise<void> {
    this.#told = { downMs };
    this.#process.process.kill(signal);
    return this.#isBack;
  }

  #start(): RunnerProcess {
    const started = startRunner(this.#options);
    this.#told = undefined;
    this.#isBack = (async () => {
      const [code, signal] = await once(started.process, "exit");
      if (this.#finished) return;
      if (!this.#told) this.deaths.push(`exited with ${signal ?? code}`);
      await sleep(this.#told?.downMs ?? 0);
      this.#process = this.#start();
    })();
    return started;
  }
}
