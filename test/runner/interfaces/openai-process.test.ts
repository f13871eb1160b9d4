/** OpenAI servers as processes, and the whole path between them and a job's events. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { type Box, openBox, QUICK, signals } from "../support/containers.ts";

let box: Box;

/** Opens one box for all tests of a group, whose servers have as long to stop as they need. */
function shareBox(...[slots, timing, more]: Parameters<typeof openBox>): void {
  beforeAll(async () => {
    box = await openBox(slots, { ...QUICK, cancelGraceMs: 60_000, ...timing }, more);
  });
  afterAll(async () => {
    await box.close();
    await vi.waitFor(() => expect(box.processes()).toEqual([]));
  });
}

const limits = { max_concurrency: 32 };
const messages = [{ role: "user", content: "12345678" }];

function ask(way: string, more: Record<string, Json> = {}, stop = signals(), name = "server") {
  const input = { model: "test/server", messages, stream: true, way, ...more };
  const job = { interface: "vendora", call: "chat_completions", limits } as const;
  return box.run(name, input, job, stop);
}

async function serverPid(): Promise<unknown> {
  const { reporter, finish } = ask("pid", { stream: false });
  expect(await finish).toMatchObject({ status: "succeeded", output: "value" });
  const [answer] = reporter.of("output");
  expect(answer).toMatchObject({
    choices: [{ message: { content: expect.stringMatching(/^\d+$/) } }],
  });
  return JSON.stringify(answer);
}

const said = (content: string) => ({
  model: "test/server",
  choices: [{ index: 0, delta: { content } }],
});

describe("a run in a server", () => {
  shareBox(32, {}, { containers: 1 });

  it("a run in a server streams, and ends with its tokens", async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 2 };
    const { reporter, finish } = ask("say", { words: ["a", "b"], usage });
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    const [first, second, last] = reporter.of("output");
    expect([first, second]).toEqual([said("a"), said("b")]);
    expect(last).toEqual({ model: "test/server", choices: [], usage });
    expect(reporter.of("metrics")).toEqual([{ input_tokens: 7, output_tokens: 2 }]);
    expect(reporter.of("setup").at(-1)).toEqual({ phase: "ready", seconds: expect.any(Number) });
    expect((await finish).setup_seconds).toBeGreaterThan(0);
    expect((await finish).execution_seconds).toBeGreaterThan(0);
  });

  it("a run in a server keeps texts unchanged, whatever they look like", async () => {
    const words = ["data:text/plain;base64,aGk=", "file:///etc/passwd", "http://127.0.0.1/x"];
    const { reporter, finish } = ask("say", { words });
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual(words.map(said));
    expect(box.plane.files.stored.size).toBe(0);
  });

  it("a run in a server stores values that are too large for the log, in their place", async () => {
    const words = ["a", "x".repeat(300_000), "b"];
    const input = { model: "m", messages, stream: true, way: "say", words };
    const { reporter, finish } = box.run("server", input, {
      interface: "vendora",
      call: "chat_completions",
      limits: { ...limits, output_bytes: 1_000_000 },
    });
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    const kinds = reporter.events.map(({ event }) => event).filter((event) => event !== "setup");
    expect(kinds.filter((event) => event !== "metrics")).toEqual(["output", "stored", "output"]);
    expect(reporter.of("output")).toEqual([said("a"), said("b")]);
  });

  it("a run in a server fails with endlessly nested output, and other runs go on", async () => {
    const pid = await serverPid();
    for (const depth of [128, 4_300, 40_000]) {
      const text = `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
      const { reporter, finish } = ask("raw", { text });
      const message = "The container's response has more than 128 levels of nesting.";
      const error = { source: "external", message };
      expect(await finish).toMatchObject({ status: "failed", output: "none", error });
      expect(reporter.of("output")).toEqual([]);
    }
    expect(await serverPid()).toBe(pid);
  });

  it("a run in a server that is abandoned is stopped, and the server stays warm", async () => {
    const pid = await serverPid();
    const stop = signals();
    const { reporter, finish } = ask("hang", {}, stop);
    await reporter.first("output");
    stop.abortAbandon();
    expect(await finish).toMatchObject({ status: "canceled" });
    expect(await serverPid()).toBe(pid);
  });

  it("a run in a server asks for a response as a chat, and logs the fields that it left out", async () => {
    const job = { interface: "vendora", call: "responses", limits } as const;
    const asked = box.run("server", { model: "m", input: "hi", way: "echo" }, job);
    expect(await asked.finish).toMatchObject({ status: "succeeded", output: "value" });
    expect(JSON.stringify(asked.reporter.of("output"))).toContain('\\"content\\":\\"hi\\"');
    const input = [{ type: "item_reference", id: "msg_1" }];
    const refused = box.run("server", { model: "m", input }, job);
    const error = { source: "external", detail: { status: 400 } };
    expect(await refused.finish).toMatchObject({ status: "failed", error });
    expect(refused.reporter.of("metrics")).toEqual([]);
  });

  it("a run in a server that crashes has its last output, and an estimate of tokens", async () => {
    const { reporter, finish } = ask("crash");
    const message = expect.stringMatching(/^The container exited with code 139:\n.*segmentation/s);
    const error = { source: "external", message };
    expect(await finish).toMatchObject({ status: "failed", output: "items", error });
    const metrics = { input_tokens: 2, output_tokens: 3, tokens_estimated: 1 };
    expect(reporter.of("metrics")).toEqual([metrics]);
  });

  it("a run in a server is stopped, and the server stays for the others", async () => {
    const stop = signals();
    const pid = await serverPid();
    const stopOther = signals();
    const other = ask("hang", {}, stopOther);
    const { reporter, finish } = ask("hang", {}, stop);
    await Promise.all([reporter.first("output"), other.reporter.first("output")]);
    stop.abortCancel();
    expect(await finish).toMatchObject({ status: "canceled", output: "items" });
    expect(reporter.of("metrics")).toMatchObject([{ tokens_estimated: 1 }]);
    expect(await serverPid()).toBe(pid);
    stopOther.abortCancel();
    expect(await other.finish).toMatchObject({ status: "canceled" });
  });

  it("a run in a server that is refused does not count against the server, however often", async () => {
    const pid = await serverPid();
    const detail = { status: 400, error: { param: "temperature" } };
    for (let n = 0; n < 4; n++) {
      const { finish } = ask("refuse", { stream: false });
      expect(await finish).toMatchObject({
        status: "failed",
        error: { message: "too hot", detail },
      });
    }
    expect(await serverPid()).toBe(pid);
  });

  it("a run that a healthy server fails does not count against the server, as the input may be at fault", async () => {
    const pid = await serverPid();
    for (let n = 0; n < 4; n++) {
      const { finish } = ask("broken", { stream: false });
      const error = { message: "no such grammar", detail: { status: 500 } };
      expect(await finish).toMatchObject({ status: "failed", error });
    }
    expect(await serverPid()).toBe(pid);
  });

  it("a run in a server shares the container with as many others as allowed", async () => {
    const runs = Array.from({ length: 32 }, (_, n) => ask("say", { words: [`${n}`] }));
    for (const [n, { reporter, finish }] of runs.entries()) {
      expect(await finish).toMatchObject({ status: "succeeded" });
      expect(reporter.of("output")).toEqual([said(`${n}`)]);
    }
    const pids = await Promise.all(Array.from({ length: 32 }, serverPid));
    expect(new Set(pids).size).toBe(1);
  });
});

describe("a run in a server that does not stop", () => {
  shareBox(32, { cancelGraceMs: 300 }, { containers: 1 });

  it("a run in a server that does not stop kills the server", async () => {
    const stop = signals();
    const { reporter, finish } = ask("deaf", {}, stop);
    await reporter.first("output");
    stop.abortCancel();
    expect(await finish).toMatchObject({ status: "canceled" });
    await vi.waitFor(() => expect(box.processes()).toEqual([]));
  });
});

describe("a Cog model that is asked by the convention", () => {
  shareBox(32);

  const echo = async (call: "responses" | "chat_completions", INPUTS: string) => {
    const input = { model: "test/server", input: "hi", mode: "echo" };
    const { reporter, finish } = box.run("liar", input, { call, variables: { INPUTS } });
    expect(await finish).toMatchObject({ status: "succeeded", output: "value" });
    return reporter;
  };

  it("a Cog model gets a response's messages, if it takes messages", async () => {
    const messages = [{ role: "user", content: "hi" }];
    expect((await echo("responses", "messages")).of("output")).toMatchObject([{ messages }]);
    const input = { model: "test/server", input: "hi" };
    for (const [call, INPUTS] of [
      ["responses", "messages,input"],
      ["responses", "prompt"],
      ["chat_completions", "messages"],
    ] as const) {
      const [given] = (await echo(call, INPUTS)).of("output");
      expect(given).toMatchObject(input);
      expect(given).not.toHaveProperty("messages");
    }
  });

  it("a Cog model gets the messages of a messages call as those of a chat", async () => {
    const input = { system: "Be brief.", messages: [{ role: "user", content: "hi" }] };
    const asked = { ...input, model: "test/server", max_tokens: 9, mode: "echo" };
    const job = { call: "messages", variables: { INPUTS: "messages" } } as const;
    const { reporter, finish } = box.run("liar", asked, job);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [given] = reporter.of("output");
    const messages = [{ role: "system", content: "Be brief." }, ...input.messages];
    expect(given).toMatchObject({ messages, max_tokens: 9 });
    expect(given).not.toHaveProperty("system");
  });

  it("a Cog model refuses fields that it does not take", async () => {
    const input = { input: [{ type: "item_reference", id: "msg_1" }], mode: "echo" };
    const job = { call: "responses", variables: { INPUTS: "messages" } } as const;
    const { reporter, finish } = box.run("liar", input, job);
    const error = { source: "external", detail: { status: 400 } };
    expect(await finish).toMatchObject({ status: "failed", error });
    expect(reporter.of("metrics")).toEqual([]);
  });

  it("a Cog model has its tokens estimated, also in failure", async () => {
    const estimated = expect.objectContaining({ input_tokens: 1, tokens_estimated: 1 });
    expect((await echo("chat_completions", "prompt")).of("metrics")).toEqual([estimated]);
    const { reporter, finish } = box.run("liar", { mode: "fail" }, { call: "chat_completions" });
    expect(await finish).toMatchObject({ status: "failed" });
    const nothing = { input_tokens: 0, output_tokens: 0, tokens_estimated: 1 };
    expect(reporter.of("metrics")).toEqual([nothing]);
  });

  it("a Cog model keeps texts unchanged", async () => {
    const input = { mode: "echo", messages: [{ content: "data:text/plain;base64,aGk=" }] };
    const { reporter, finish } = box.run("liar", input, { call: "chat_completions" });
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual([input]);
  });

  it("a Cog model refuses an invalid input, however often, and its container stays", async () => {
    const pid = async () => {
      const { reporter, finish } = box.run("liar", { mode: "pid" }, { call: "chat_completions" });
      await finish;
      return reporter.of("output");
    };
    const [first] = await pid();
    for (let n = 0; n < 4; n++) {
      const { finish } = box.run("liar", { mode: "invalid" }, { call: "chat_completions" });
      expect(await finish).toMatchObject({ status: "failed", error: { detail: { status: 422 } } });
    }
    expect(await pid()).toEqual([first]);
  });
});
