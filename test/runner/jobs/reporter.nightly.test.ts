// A log of as many pieces as a run may have.
import { expect, test } from "vitest";
import { MAX_NOTES } from "../../../src/protocol/event.ts";
import { Reporter } from "../../../src/run/reporter.ts";

test("a log in too many pieces is cut, and says so", () => {
  const limits = { output_bytes: 10_000_000, logs_bytes: 10_000_000 };
  const it = new Reporter({ limits, onChange() {}, onBreach() {} });
  for (let n = 0; n < MAX_NOTES - 1; n++) {
    it.logs(".");
    it.take();
  }
  it.setup({ phase: "starting", logs: "the last" });
  it.logs("too many");
  it.logs("never seen");
  it.setup({ phase: "starting", logs: "never seen" });
  it.setup({ phase: "ready", logs: "never seen" });
  expect(it.take().events.map((text) => JSON.parse(text))).toEqual([
    { event: "setup", data: { phase: "starting", logs: "the last" } },
    {
      event: "logs",
      data: "\n[auspex] Log truncated: it has more than 250000 parts.\n",
    },
    { event: "setup", data: { phase: "ready" } },
  ]);
});
