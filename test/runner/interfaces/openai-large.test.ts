/** Large answers of several servers, which are read one at a time. */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { LargeReads } from "../../../runner/src/interfaces/large-reads.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { chunk, connect, DONE, data, FakeServer, LIMITS, until } from "../support/openai-server.ts";

const CHAT = "/v1/chat/completions";
const SIZE = 3_000_000;
const limits = { ...LIMITS, output_bytes: 4_000_000 };
const large = (name: string) => ({ name, text: "x".repeat(SIZE) });

/** Starts a server whose answers the test gives piece by piece, and a run in it. */
async function open(large: LargeReads, stream: boolean) {
  const answers: ServerResponse[] = [];
  const server = await FakeServer.start({ [CHAT]: (response) => void answers.push(response) });
  const { run } = await connect(server, {}, large);
  return async () => {
    const attempt = run("chat_completions", { stream, messages: [] }, limits);
    const count = answers.length + 1;
    await until(() => answers.length === count);
    const answer = answers[count - 1];
    if (!answer) throw new Error("no answer");
    const type = stream ? "text/event-stream" : "application/json";
    answer.writeHead(200, { "content-type": type });
    return { ...attempt, answer };
  };
}

type Ask = Awaited<ReturnType<typeof open>>;

const written = (answer: ServerResponse, text: string) =>
  new Promise((resolve) => answer.write(text, resolve));

const kinds = [
  { kind: "event", stream: true, end: DONE, text: (value: Json) => data(value) },
  { kind: "value", stream: false, end: "", text: (value: Json) => JSON.stringify(value) },
];

describe.each(kinds)("a large $kind", ({ stream, end, text }) => {
  /** Waits until the sent bytes are read, as far as they will be. */
  const settle = async (ask: Ask) => {
    for (let n = 0; n < 5; n++) {
      const { answer, outcome } = await ask();
      answer.end(text(chunk("small")) + end);
      expect(await outcome).toMatchObject({ finish: { status: "succeeded" } });
    }
  };

  it("a large answer is read after the one before, even of another server", async () => {
    const reads = new LargeReads();
    const [ask, askOther] = [await open(reads, stream), await open(reads, stream)];
    const [first, second] = [await ask(), await askOther()];
    await written(first.answer, text(large("first")).slice(0, 2_000_000));
    await settle(ask);
    second.answer.end(text(large("second")) + end);
    await settle(askOther);
    expect(second.reporter.events).toEqual([]);
    first.answer.end(text(large("first")).slice(2_000_000) + end);
    for (const [name, { reporter, outcome }] of Object.entries({ first, second })) {
      expect(await outcome).toMatchObject({ finish: { status: "succeeded" } });
      expect(reporter.of("output")).toEqual([large(name)]);
    }
  });

  it("a large answer does not wait once its run is stopped", async () => {
    const reads = new LargeReads();
    const ask = await open(reads, stream);
    const [first, second] = [await ask(), await ask()];
    await written(first.answer, text(large("first")).slice(0, 2_000_000));
    await settle(ask);
    second.answer.end(text(large("second")) + end);
    await settle(ask);
    second.stop();
    expect(await second.outcome).toMatchObject({ finish: { status: "canceled" } });
    first.stop();
    expect(await first.outcome).toMatchObject({ finish: { status: "canceled" } });
    const third = await ask();
    third.answer.end(text(large("third")) + end);
    expect(await third.outcome).toMatchObject({ finish: { status: "succeeded" } });
  });

  it("a large answer that comes too slowly is given up, so that others can be read", async () => {
    const ask = await open(new LargeReads(300), stream);
    const [first, second] = [await ask(), await ask()];
    await written(first.answer, text(large("first")).slice(0, 2_000_000));
    second.answer.end(text(large("second")) + end);
    const message = "The container sent less than 1 MB of a large response in 0.3 s.";
    expect(await first.outcome).toMatchObject({
      finish: { status: "failed", output: "none", error: { source: "external", message } },
      notContainersFault: false,
    });
    expect(await second.outcome).toMatchObject({ finish: { status: "succeeded" } });
  });
});

it("an event ends its turn, though its stream goes on", async () => {
  const reads = new LargeReads();
  const ask = await open(reads, true);
  const [first, second] = [await ask(), await ask()];
  await written(first.answer, data(large("first")));
  await first.reporter.first("output");
  second.answer.end(data(large("second")) + DONE);
  expect(await second.outcome).toMatchObject({ finish: { status: "succeeded" } });
  first.answer.end(DONE);
  expect(await first.outcome).toMatchObject({ finish: { status: "succeeded" } });
});
