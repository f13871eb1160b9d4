/** The trace of a run, which its container continues. */
import { expect, it } from "vitest";
import { openBox } from "../support/containers.ts";
import { CHAT, connect, FakeServer, json, LIMITS } from "../support/openai-server.ts";

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

it("a Cog container gets the trace as a header and in the context, and neither without a trace", async () => {
  const box = await openBox();
  try {
    const traced = box.run("liar", { mode: "trace" }, { traceparent: TRACEPARENT });
    expect(await traced.finish).toMatchObject({ status: "succeeded" });
    expect(traced.reporter.of("output")).toEqual([
      { traceparent: TRACEPARENT, context: { traceparent: TRACEPARENT } },
    ]);
    const processes = box.processes();
    const plain = box.run("liar", { mode: "trace" });
    expect(await plain.finish).toMatchObject({ status: "succeeded" });
    expect(plain.reporter.of("output")).toEqual([{ traceparent: null, context: null }]);
    // The trace is no part of what containers differ in: both runs were in the same one.
    expect(box.processes()).toEqual(processes);
  } finally {
    await box.close();
  }
});

it("an OpenAI-compatible server gets the trace as a header, also when a call is translated", async () => {
  const server = await FakeServer.start({
    [CHAT]: json(200, { object: "chat.completion", model: "served", choices: [] }),
    "/rerank": json(200, [{ index: 0, score: 1 }]),
  });
  const { run } = await connect(server);
  const ask = (...[call, input, traceparent]: [Parameters<typeof run>[0], object, string?]) =>
    run(call, { model: "x", ...input }, LIMITS, undefined, traceparent).outcome;
  await ask("chat_completions", { messages: [] }, TRACEPARENT);
  await ask("responses", { input: "hi" }, TRACEPARENT);
  await ask("rerank", { query: "a", documents: ["a"] }, TRACEPARENT);
  const posted = server.asked.filter(({ path }) => [CHAT, "/rerank"].includes(path));
  expect(posted.length).toBeGreaterThanOrEqual(3);
  for (const { headers } of posted) expect(headers.traceparent).toBe(TRACEPARENT);
  await ask("chat_completions", { messages: [] });
  expect(server.asked.at(-1)?.headers).not.toHaveProperty("traceparent");
});
