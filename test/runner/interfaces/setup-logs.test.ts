/** The output of a container while it starts, which only its model's owner can read. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Finish } from "../../../src/protocol/channel.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import { type Box, openBox, type Recorded } from "../support/containers.ts";

let box: Box;
beforeAll(async () => {
  box = await openBox();
});
afterAll(() => box.close());

/** Runs a OpenAI server in a container of its own, given by its key, so that each run has a setup. */
function ask(SETUP: string, key: string, setup_logs: boolean) {
  const messages = [{ role: "user", content: "hi" }];
  const input = { messages, stream: true, way: "say", words: ["hello"] };
  return box.run("server", input, {
    interface: "vendora",
    call: "chat_completions",
    keys: { container: key, files: "f" },
    variables: { SETUP },
    setup_logs,
  });
}

const logsOf = (reporter: Recorded) =>
  reporter
    .of("setup")
    .map((data) => (data as SetupProgress).logs ?? "")
    .join("");

const whole = ({ reporter, finish }: { reporter: Recorded; finish: Promise<Finish> }) =>
  finish.then((end) => JSON.stringify([reporter.events, end]));

describe("a server that loads", () => {
  it("the output of a loading server is sent to its owner line by line, until it is ready", async () => {
    const { reporter, finish } = ask("loud", "a", true);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const logs = logsOf(reporter);
    for (const layer of [3, 2, 1]) expect(logs).toContain(`löading layer ${layer}\n`);
    expect(reporter.of("setup").at(-1)).toEqual({ phase: "ready", seconds: expect.any(Number) });
  });

  it("the output of a loading server is not sent to other accounts", async () => {
    const run = ask("loud", "b", false);
    expect(await whole(run)).not.toMatch(/layer|logs/);
    const phases = run.reporter.of("setup").map((data) => (data as SetupProgress).phase);
    expect(phases).toEqual(["starting", "ready"]);
  });
});

describe("a start that fails", () => {
  it("a failed start shows its owner the last output", async () => {
    const { reporter, finish } = ask("fail", "c", true);
    const message = "The container exited with code 3:\nno weights: the key hunter2 was refused";
    expect(await finish).toMatchObject({ error: { source: "external", message } });
    // The output is also in the logs, and only once.
    expect(logsOf(reporter).match(/hunter2/g)).toHaveLength(1);
  });

  it("a failed start shows other accounts the reason, and none of its output", async () => {
    const run = ask("fail", "d", false);
    const message = "The container exited with code 3. The model's owner can see its logs.";
    expect(await run.finish).toMatchObject({ error: { source: "external", message } });
    expect(await whole(run)).not.toContain("hunter2");
  });

  it("a failed start of a Cog model is shown in the same way", async () => {
    const told = async (setup_logs: boolean) => {
      const keys = { container: `cog ${setup_logs}`, files: "f" };
      const more = { variables: { SETUP: "fail" }, setup_logs, keys };
      const { error } = await box.run("liar", { mode: "pid" }, more).finish;
      return error?.message;
    };
    expect(await told(true)).toBe("The model's setup failed:\nno weights");
    expect(await told(false)).toBe("The model's setup failed. The model's owner can see its logs.");
  });
});

it("a crash in the first run shows no account the output from before it was ready", async () => {
  const messages = [{ role: "user", content: "hi" }];
  const { finish } = box.run(
    "server",
    { messages, stream: true, way: "crash" },
    {
      interface: "vendora",
      call: "chat_completions",
      keys: { container: "e", files: "f" },
      variables: { SETUP: "loud" },
      setup_logs: false,
    },
  );
  const { error } = await finish;
  expect(error?.message).toBe("The container exited with code 139:\nsegmentation fault");
});
