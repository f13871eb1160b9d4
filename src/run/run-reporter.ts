/** The reports of a run, and those who pass them on. */
import type { Json } from "../protocol/common.ts";
import type { Metrics, SetupProgress, StoredValue } from "../protocol/event.ts";
import type { OpenAiCall } from "../protocol/runner.ts";

/** Receives the reports of a run, in order. No method waits or throws. */
export interface RunReporter {
  setup(progress: SetupProgress): void;
  /** @param json its text, as it was written */
  output(value: Json, json?: string): void;
  /**
   * Reserves room for an output of this many bytes of JSON before it is stored elsewhere. @returns
   * false if the output limit is exceeded
   */
  reserve(bytes: number): boolean;
  outputJson(json: string): void;
  /** An output that was stored elsewhere, for which room was reserved. */
  storedOutput(value: StoredValue): void;
  logs(text: string): void;
  metrics(metrics: Metrics): void;
}

/** A reporter that passes on each report that its subclass does not override. */
export class PassingReporter implements RunReporter {
  protected readonly reporter: RunReporter;

  constructor(reporter: RunReporter) {
    this.reporter = reporter;
  }

  setup(progress: SetupProgress): void {
    this.reporter.setup(progress);
  }

  output(value: Json, json?: string): void {
    this.reporter.output(value, json);
  }

  reserve(bytes: number): boolean {
    return this.reporter.reserve(bytes);
  }

  outputJson(json: string): void {
    this.reporter.outputJson(json);
  }

  storedOutput(value: StoredValue): void {
    this.reporter.storedOutput(value);
  }

  logs(text: string): void {
    this.reporter.logs(text);
  }

  metrics(metrics: Metrics): void {
    this.reporter.metrics(metrics);
  }
}

/** Whether the output of a call has images, which come as base64. */
export const isImageCall = (call: OpenAiCall | null): boolean =>
  call === "images_generations" || call === "images_edits";
