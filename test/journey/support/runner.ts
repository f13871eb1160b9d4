/** A real runner of a world: its process, its own copy of the models, and its log. */
import { EventEmitter, once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { type RunnerOptions, type RunnerProcess, startRunner } from "../../../src/dev/runner.ts";
import { processesIn } from "../../processes/processes-in.ts";

/** Seconds that a cancelled model has to stop before its container is killed. */
const CANCEL_SECONDS = 1;

/** The variable is set in test/projects/shared.ts. */
const { NODE_COMPILE_CACHE } = process.env;

/** No journey keeps a runner silent for so long, ms, on any machine. */
const SAYS_MS = 60_000;

/** The longest time, ms, that a runner takes to end, on any machine. */
const ENDS_MS = 60_000;

export class Runner {
  readonly name: string;
  readonly lines: string[] = [];
  readonly #changes = new EventEmitter();
  readonly #process: RunnerProcess;
  readonly #models: string | undefined;
  readonly #options: RunnerOptions;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.name = options.name;
    this.#models = options.models?.folder;
    this.#process = startRunner({
      ...options,
      environment: {
        AUSPEX_CANCEL_SECONDS: String(CANCEL_SECONDS),
        ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
        ...options.environment,
      },
      onLine: (line) => {
        this.lines.push(line);
        this.#changes.emit("line");
      },
    });
  }

  /** Starts another process of this runner. */
  next(changes: Partial<RunnerOptions> = {}): Runner {
    return new Runner({ ...this.#options, ...changes });
  }

  /** Resolves when the runner has logged a line that matches. */
  async says(pattern: RegExp): Promise<void> {
    const signal = AbortSignal.timeout(SAYS_MS);
    while (!this.lines.some((line) => pattern.test(line))) {
      await once(this.#changes, "line", { signal }).catch(() => {
        throw new Error(`${this.name} has not said ${pattern}:\n${this.lines.join("\n")}`);
      });
    }
  }

  /**
   * Resolves when the runner has logged of each prediction that it is fenced or lost. A runner that was away for
   * two leases stops asking.
   */
  async givesUp(...watches: { id: string }[]): Promise<void> {
    for (const { id } of watches) await this.says(new RegExp(` (fenced|lost) .*${id}`));
  }

  signal(name: NodeJS.Signals): void {
    this.#process.process.kill(name);
  }

  /** Resolves when the runner's process has ended by itself. */
  async ends(): Promise<void> {
    await vi.waitFor(() => expect(this.ended).toBe(true));
  }

  get ended(): boolean {
    const { exitCode, signalCode } = this.#process.process;
    return exitCode !== null || signalCode !== null;
  }

  async kill(): Promise<void> {
    const exited = once(this.#process.process, "exit");
    this.signal("SIGKILL");
    await exited;
  }

  /** Opens a gate of a model (test/journey/models) with a hidden file, which its digest leaves out. */
  open(model: string, gate: string): void {
    writeFileSync(join(this.#folder(), model, `.${gate}`), "");
  }

  /** Returns the processes of the runner's models, or of one of them. */
  processes(model = ""): number[] {
    return processesIn(join(this.#folder(), model));
  }

  /** Resolves when no process of the runner's models, or of one of them, is left. */
  async rests(model = ""): Promise<void> {
    await vi.waitFor(() => expect(this.processes(model)).toEqual([]));
  }

  /** Ends the runner, and checks that it ended well and left nothing. */
  async finish(): Promise<void> {
    const { process } = this.#process;
    if (!this.ended) {
      await this.#process.stop(ENDS_MS);
      expect([this.name, process.exitCode, process.signalCode]).toEqual([this.name, 0, null]);
    }
    const trouble = this.lines.filter((line) => /unhandled|uncaught| error /i.test(line));
    expect(trouble).toEqual([]);
    if (this.#models !== undefined) await this.rests();
  }

  #folder(): string {
    if (this.#models === undefined) throw new Error(`${this.name} has no model folders`);
    return this.#models;
  }
}
