/** More of the page of a run: lost runners, setups and long logs. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { logLinesIn, newCustomer, view } from "../support/customer.ts";
import { objectOf } from "../support/objects.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Returns the names of the steps, with their states. */
const stepsIn = (html: string) =>
  [...html.matchAll(/<li class="(\w+)"[^>]*><span class="step">([^<]+)/g)].map(
    ([, state, name]) => `${name}: ${state}`,
  );

describe("a run that goes on", () => {
  it("the setup of a run has the runner's measure from the start of the model on", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.report([{ event: "setup", data: { phase: "ready", seconds: 0.004 } }]);
    expect(await who.client.get(id)).toMatchObject({ status: "started", setup_time: "0.004" });
    expect(await view(who, id)).toMatch(/>Setup<\/span><span[^>]*>4 ms</);
    await channel.report([], { status: "succeeded", output: "none", setup_seconds: 0.004 });
    expect(await who.client.get(id)).toMatchObject({ setup_time: "0.004" });
  });

  it("the log of a failed setup, which its error repeats, is shown once", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.report(
      [{ event: "setup", data: { phase: "starting", logs: "Loading\nNo module named torch\n" } }],
      {
        ...{ status: "failed", output: "none" },
        error: {
          ...{ source: "external", detail: null },
          message: "the model's setup failed:\nLoading\nNo module named torch",
        },
      },
    );
    const html = await view(who, id);
    expect(html.match(/No module named torch/g)).toHaveLength(1);
    expect(html).toContain("the model&#39;s setup failed</bdi>");
  });

  it("a run whose runner was lost is shown as waiting for the next attempt", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.report([{ event: "setup", data: { phase: "pulling" } }]);
    vi.setSystemTime(Date.now() + 31_000);
    await runDurableObjectAlarm(await objectOf(id));
    const html = await view(who, id);
    expect(html).toContain("The runner of attempt 1 was lost. Attempt 2 is queued.");
    expect(html).not.toContain("Pulling the image");
    expect(stepsIn(html)).toEqual([
      "Created: past",
      "Attempt 1 (lost): past",
      "Queued: current",
      "Setup: ahead",
      "Running: ahead",
      "First output: ahead",
      "Done: ahead",
    ]);
    await (await who.runner()).work();
    const again = await view(who, id);
    expect(again).toContain("The runner of attempt 1 was lost.");
    expect(stepsIn(again)).toContain("Attempt 1 (lost): past");
    expect(stepsIn(again)).toContain("Running: current");
  });
});

describe("a run that has ended", () => {
  it("a run shows the end of a long log, and the number of lines before", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    const lines = Array.from({ length: 2_300 }, (_, n) => `line ${n}\n`).join("");
    await channel.report([{ event: "logs", data: lines }]);
    await channel.succeed();
    const html = await view(who, id);
    expect(html).toContain("300 earlier lines are not shown");
    expect(logLinesIn(html)[0]).toBe("line 300");
    const file = await who.visitor.fetch(`/predictions/${id}/logs.txt`, {});
    expect(file.headers.get("content-disposition")).toBe(`attachment; filename="${id}.log.txt"`);
    expect(await file.text()).toBe(lines);
  });

  it("a line of the log whose beginning is missing is marked", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    for (const part of ["a", "b", "c"]) {
      await channel.report([{ event: "logs", data: part.repeat(100_000) }]);
    }
    await channel.succeed();
    const html = await view(who, id);
    expect(html).toContain('data-logs-hidden="true">The beginning of this line is not shown');
  });
});
