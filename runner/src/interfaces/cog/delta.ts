/**
 * Turns the states that a container reports into events. Each state holds everything so far and
 * states may arrive out of order, so only growth counts: longer logs and longer output.
 */
import type { Finish } from "../../../../src/protocol/channel.ts";
import type { RunReporter } from "../../jobs/executor.ts";
import type { State } from "./protocol.ts";

/** The limit of names in `metrics` events. */
const MAX_NAME = 100;

export class Delta {
  readonly #reporter: RunReporter;
  readonly #iterator: boolean;
  #items = 0;
  #logs = 0;

  /** `iterator`: each item of the output is an event of its own, as soon as it arrives. */
  constructor(reporter: RunReporter, iterator: boolean) {
    this.#reporter = reporter;
    this.#iterator = iterator;
  }

  /** How the output events so far make up the output. */
  get output(): Finish["output"] {
    return this.#items > 0 ? "items" : "none";
  }

  /**
   * Until the end `output` is a list for any model; only an iterator's list is reported item by
   * item.
   */
  add({ output, logs }: State): void {
    this.#addLogs(logs);
    if (this.#iterator && Array.isArray(output)) this.#addItems(output);
  }

  /** Adds the terminal state. @returns how the output events make up the output */
  end({ output, logs, metrics }: State): Finish["output"] {
    this.#addLogs(logs);
    this.#addMetrics(metrics);
    if (this.#iterator && Array.isArray(output)) {
      this.#addItems(output);
      return "items";
    }
    if (output === undefined || output === null) return this.output;
    this.#reporter.output(output);
    return "value";
  }

  #addItems(items: Parameters<RunReporter["output"]>[0][]): void {
    for (const item of items.slice(this.#items)) this.#reporter.output(item);
    this.#items = Math.max(this.#items, items.length);
  }

  #addLogs(logs: State["logs"]): void {
    if (!logs || logs.length <= this.#logs) return;
    this.#reporter.logs(logs.slice(this.#logs));
    this.#logs = logs.length;
  }

  #addMetrics(metrics: State["metrics"]): void {
    const numbers = Object.entries(metrics ?? {}).filter(
      (entry): entry is [string, number] =>
        typeof entry[1] === "number" && Number.isFinite(entry[1]) && entry[0].length <= MAX_NAME,
    );
    if (numbers.length > 0) this.#reporter.metrics(Object.fromEntries(numbers));
  }
}
