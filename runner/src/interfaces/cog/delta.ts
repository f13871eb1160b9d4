/**
 * Turns the states that a container reports into events. Each state holds everything so far and
 * states may arrive out of order, so only growth counts: longer logs and longer output.
 */

import { itemsOf, memberText, oneLineJson } from "../../../../src/lib/json-text.ts";
import type { Finish } from "../../../../src/protocol/channel.ts";
import type { Json } from "../../../../src/protocol/common.ts";
import type { RunReporter } from "../../../../src/run/run-reporter.ts";
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
   * Reports the changes of a state. `output` is a list for any model until the run ends; only an iterator's
   * list is reported item by item.
   * @param body the text of the state, from which outputs are reported as they were written
   */
  add({ output, logs }: State, body: string): void {
    this.#addLogs(logs);
    if (this.#iterator && Array.isArray(output)) this.#addItems(output, body);
  }

  /** Adds the terminal state. @returns how the output events make up the output */
  end({ output, logs, metrics }: State, body: string): Finish["output"] {
    this.#addLogs(logs);
    this.#addMetrics(metrics);
    if (this.#iterator && Array.isArray(output)) {
      this.#addItems(output, body);
      return "items";
    }
    if (output === undefined || output === null) return this.output;
    this.#reporter.output(output, outputText(body));
    return "value";
  }

  #addItems(items: Json[], body: string): void {
    if (items.length <= this.#items) return;
    const text = outputText(body);
    let n = 0;
    for (const { from, to } of itemsOf(text)) {
      const item = items[n];
      if (n >= this.#items && item !== undefined) this.#reporter.output(item, text.slice(from, to));
      n += 1;
    }
    this.#items = items.length;
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

const outputText = (body: string): string => memberText(oneLineJson(body), "output") ?? "null";
