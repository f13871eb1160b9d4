/** Tells of each test that failed and then passed: what passes at the second try is to be looked at too. */
import type { Reporter, TestCase } from "vitest/node";

export class RetriedReporter implements Reporter {
  readonly #retried: string[] = [];

  onTestCaseResult(test: TestCase): void {
    const diagnostic = test.diagnostic();
    if (!diagnostic?.flaky) return;
    const errors = test.result().errors ?? [];
    const why = errors.map(({ message }) => `    ${message.split("\n", 1)[0]}`);
    this.#retried.push([`  ${test.module.relativeModuleId} > ${test.fullName}`, ...why].join("\n"));
  }

  onTestRunEnd(): void {
    if (this.#retried.length === 0) return;
    console.log(["", "Passed at the second try only:", ...this.#retried, ""].join("\n"));
  }
}
