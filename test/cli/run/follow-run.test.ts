/** The output of a command that follows a prediction. */
import { afterEach, expect, test, vi } from "vitest";
import { followRun } from "../../../src/cli/run/follow-run.ts";
import type { PredictionEvent } from "../../../src/cli/service/events.ts";
import { silentDisplay } from "../../../src/cli/ui/display.ts";
import type { Prediction } from "../../../src/protocol/prediction.ts";

const failed = (message: string): Prediction => ({
  id: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  model: { owner: "demo", name: "story", version_number: 1 },
  created_at: "2026-11-20T10:15:30.000Z",
  updated_at: "2026-11-20T10:15:30.000Z",
  status: "failed",
  setup_time: null,
  execution_time: null,
  error: { source: "external", message, detail: null },
  metrics: null,
  cost: null,
  url: "https://auspex.example.com/v1/predictions/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  stream: true,
  created_by: null,
});

async function endOf(logs: string[], message: string) {
  const said: string[] = [];
  async function* events(): AsyncGenerator<PredictionEvent> {
    for (const one of logs) yield { event: "setup", data: { phase: "starting", logs: one } };
    yield { event: "done", data: failed(message) };
  }
  const done = await followRun({
    events: events(),
    display: { ...silentDisplay, say: (text) => said.push(text) },
    onOutput: async () => {},
  });
  return { said: said.join("\n"), message: done.error?.message };
}

test("the log of a failed setup, which its error repeats, is printed once", async () => {
  const { said, message } = await endOf(
    ["Loading\n", "No module named torch\n"],
    "the model's setup failed:\nLoading\nNo module named torch",
  );
  expect(said).toContain("No module named torch");
  expect(message).toBe("the model's setup failed");
});

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  [900, []],
  [1_100, ["Waiting for a runner"]],
])("a prediction that starts after %i ms says %j", async (ms, expected) => {
  vi.useFakeTimers();
  const said: string[] = [];
  async function* events(): AsyncGenerator<PredictionEvent> {
    yield { event: "status", data: { status: "pending" } };
    await new Promise((resolve) => setTimeout(resolve, ms));
    yield { event: "status", data: { status: "started" } };
    yield { event: "done", data: { ...failed(""), error: null } };
  }
  const run = followRun({
    events: events(),
    display: { ...silentDisplay, say: (text) => said.push(text) },
    onOutput: async () => {},
  });
  await vi.advanceTimersByTimeAsync(ms);
  await run;
  expect(said).toEqual(expected);
});

test("an error keeps a log that was not printed", async () => {
  const message = "the model's setup failed:\nNo module named torch";
  expect((await endOf([], message)).message).toBe(message);
});
