/**
 * Prints the time of a run for each project, and for the ten files that took most processor time. Writes all
 * times to .auspex/test-times.json, for `npm run house`.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Reporter, TestModule } from "vitest/node";
import { root } from "./shared.ts";

export interface FileTime {
  file: string;
  project: string;
  /** Processor seconds: each file that runs gets an equal share of the time that all processes use. */
  cpu: number;
  wall: number;
}

const SLOWEST = 10;
/** The share of its project's processor time above which a file is to be divided or made cheaper. */
const MOST = 0.05;
const TICKS_PER_SECOND = 100;

export class TimesReporter implements Reporter {
  readonly #times = new Map<TestModule, FileTime & { since: number }>();
  readonly #running = new Set<TestModule>();
  #used = usedByAll();

  onTestModuleStart(module: TestModule): void {
    this.#share();
    const { relativeModuleId: file, project } = module;
    this.#times.set(module, { file, project: project.name, cpu: 0, wall: 0, since: Date.now() });
    this.#running.add(module);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#share();
    this.#running.delete(module);
    const time = this.#times.get(module);
    if (time) time.wall = (Date.now() - time.since) / 1_000;
  }

  onTestRunEnd(): void {
    const times = [...this.#times.values()];
    const projects = new Map<string, number>();
    for (const { project, cpu } of times) projects.set(project, (projects.get(project) ?? 0) + cpu);
    const lines = ["", "Processor time by project:"];
    for (const [project, cpu] of projects) {
      const files = times.filter((one) => one.project === project);
      const from = Math.min(...files.map(({ since }) => since));
      const to = Math.max(...files.map(({ since, wall }) => since + wall * 1_000));
      const wall = (to - from) / 1_000;
      lines.push(`${seconds(cpu)} ${project}, ${files.length} files in ${Math.round(wall)} s`);
    }
    lines.push(
      "",
      `The ${SLOWEST} files with most processor time, their part of their project, and their seconds:`,
    );
    const slowest = times.toSorted((one, other) => other.cpu - one.cpu).slice(0, SLOWEST);
    for (const { file, project, cpu, wall } of slowest) {
      const part = cpu / (projects.get(project) || 1);
      const mark = part > MOST ? "  more than 5 %" : "";
      lines.push(`${seconds(cpu)} ${Math.round(part * 100)} % ${seconds(wall)} ${file}${mark}`);
    }
    console.log([...lines, ""].join("\n"));
    mkdirSync(join(root, ".auspex"), { recursive: true });
    const kept = times.map(({ since: _, ...time }) => time);
    writeFileSync(join(root, ".auspex/test-times.json"), JSON.stringify(kept));
  }

  /** Shares the processor time since the last event among the files that ran. */
  #share(): void {
    const used = usedByAll();
    // Chromium's processes take their time along when they end: nobody waits for them.
    const part = Math.max(0, used - this.#used) / this.#running.size;
    this.#used = used;
    for (const module of this.#running) {
      const time = this.#times.get(module);
      if (time) time.cpu += part;
    }
  }
}

const seconds = (value: number) => value.toFixed(1).padStart(7);

/** Returns the processor seconds of this process and of all its descendants; 0 without /proc. */
function usedByAll(): number {
  const parents = new Map<number, number>();
  const used = new Map<number, number>();
  for (const name of processes()) {
    const [, after = ""] = statOf(name).split(/\) (?=[A-Z] )/);
    const [, parent, ...rest] = after.split(" ").map(Number);
    if (parent === undefined) continue;
    parents.set(Number(name), parent);
    // The fields are utime, stime, and those of children that have ended.
    used.set(
      Number(name),
      rest.slice(9, 13).reduce((sum, ticks) => sum + ticks, 0),
    );
  }
  const isOurs = (id: number | undefined): boolean =>
    id !== undefined && (id === process.pid || isOurs(parents.get(id)));
  let sum = 0;
  for (const [id, ticks] of used) if (isOurs(id)) sum += ticks;
  return sum / TICKS_PER_SECOND;
}

function processes(): string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function statOf(name: string): string {
  try {
    return readFileSync(`/proc/${name}/stat`, "utf8");
  } catch {
    return "";
  }
}
