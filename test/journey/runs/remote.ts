/** A remote version by OpenAI's official client. */
import { beforeAll, expect, it } from "vitest";
import { USERNAME } from "../support/access.ts";
import { asks, openAiOf } from "../support/conventions.ts";
import { receiver, runner, world } from "../support/shared.ts";

const MODEL = `${USERNAME}/far`;

beforeAll(publishFar);

const chunk = (delta: object, finish_reason: string | null = null) => {
  const chat = { id: "c", object: "chat.completion.chunk", created: 1, model: "gpt-far" };
  return `data: ${JSON.stringify({ ...chat, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
};

async function publishFar(): Promise<void> {
  const { client } = world;
  await client.fetch("POST", "/models", { body: { name: "far" } });
  await client.fetch("PUT", `/models/${MODEL}/variables/FAR_KEY`, {
    body: { value: "sk-far" },
  });
  const url = `${receiver.url}/v1`;
  const remote = { url, api: "openai", model: "gpt-far", key_variable: "FAR_KEY" };
  await client.fetch("POST", `/models/${MODEL}/versions`, {
    body: { release_notes: "", configuration: { interface: "remote", remote } },
  });
}

it("OpenAI's client streams a chat from a remote version", async () => {
  const { access } = world;
  const texts = ["Hel", "lo"].map((content) => chunk({ role: "assistant", content }));
  receiver.script("/v1/chat/completions", [
    {
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: `${texts.join("")}${chunk({}, "stop")}data: [DONE]\n\n`,
    },
  ]);
  const { openai, wire } = openAiOf(access);
  const stream = openai.chat.completions.stream({
    model: MODEL,
    messages: [{ role: "user", content: "Hi" }],
  });
  const { choices, model } = await stream.finalChatCompletion();
  expect(choices).toMatchObject([{ message: { content: "Hello" }, finish_reason: "stop" }]);
  expect(model).toBe(MODEL);
  expect(receiver.of("/v1/chat/completions")).toMatchObject([
    { headers: { authorization: "Bearer sk-far" } },
  ]);
  await wire.settle();
});

it("a deployment whose runners are all killed is answered by its fallback, which a header names", {
  timeout: 60_000,
}, async () => {
  const { client, access } = world;
  const model = `${USERNAME}/alias`;
  const fallbackAfter = (after_seconds: number) => ({
    fallbacks: [{ model: MODEL, after_seconds }],
  });
  await client.fetch("POST", "/deployments", {
    body: { name: "alias", model: `${USERNAME}/oracle`, ...fallbackAfter(3_600) },
  });
  const { openai, wire } = openAiOf(access);
  const ask = () =>
    openai.chat.completions.create({ model, messages: asks({ say: ["near"] }) }).withResponse();
  const near = await ask();
  expect(near.data.choices[0]?.message.content).toBe("near");
  expect(near.response.headers.get("x-auspex-answered-by")).toMatch(`${USERNAME}/oracle:`);
  receiver.script("/v1/chat/completions", [
    {
      status: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...{ id: "c", object: "chat.completion", created: 1, model: "gpt-far" },
        choices: [
          { index: 0, message: { role: "assistant", content: "far" }, finish_reason: "stop" },
        ],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    },
  ]);
  await runner.kill();
  await client.fetch("PATCH", `/deployments/${model}`, { body: fallbackAfter(2) });
  const far = await ask();
  expect(far.data.choices[0]?.message.content).toBe("far");
  expect(far.response.headers.get("x-auspex-answered-by")).toBe(`${MODEL}:1`);
  await wire.settle();
});
