/**
 * The last logs of a run. The runner sees a container's last output only once the container has ended; most
 * of its lines are in the logs by then, and only the rest is added.
 */
import type { SetupProgress } from "../../../src/protocol/event.ts";
import { PassingReporter } from "./executor.ts";

/**
 * The limit of remembered characters, which is more than the logs of an ended container
 * (engines/log-tail.ts).
 */
const MAX_CHARS = 32 * 1024;

export class LastWords extends PassingReporter {
  #logged = "";

  override setup(progress: SetupProgress): void {
    this.#hear(progress.logs ?? "");
    super.setup(progress);
  }

  override logs(text: string): void {
    this.#hear(text);
    super.logs(text);
  }

  /** @param printed what a container printed last that never became ready */
  addToSetup(printed: string): void {
    const logs = unlogged(printed, this.#logged);
    if (logs !== "") this.setup({ phase: "starting", logs });
  }

  /** @param printed what the container printed last during the run */
  addToRun(printed: string): void {
    const text = unlogged(printed, this.#logged);
    if (text !== "") this.logs(text);
  }

  #hear(text: string): void {
    this.#logged += text;
    if (this.#logged.length > 2 * MAX_CHARS) this.#logged = this.#logged.slice(-MAX_CHARS);
  }
}

/** The lines of a text that were not logged, on lines of their own. */
export function unlogged(printed: string, logged: string): string {
  const known = new Set(logged.split("\n").map((line) => line.trimEnd()));
  const lines = printed.split("\n").filter((line) => line !== "" && !known.has(line.trimEnd()));
  if (lines.length === 0) return "";
  return `${logged === "" || logged.endsWith("\n") ? "" : "\n"}${lines.join("\n")}\n`;
}
