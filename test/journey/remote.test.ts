/** A remote version by OpenAI's official client, in the production bundle and without a runner. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { Receiver } from "../receiver/receiver.ts";
import { USERNAME } from "./support/access.ts";
import { openAiOf } from "./support/conventions.ts";
import { World } from "./support/world.ts";

const MODEL = `${USERNAME}/far`;

let world: World;
let host: Receiver;

beforeAll(async () => {
  host = await Receiver.open();
  world = await World.open({ variables: { WEBHOOK_ALLOW_INSECURE: "true" } });
});
afterAll(async () => {
  await world.close();
  await host.close();
});

const chunk = (delta: object, finish_reason: string | null = null) => {
  const chat = { id: "c", object: "chat.completion.chunk", created: 1, model: "gpt-far" };
  return `data: ${JSON.stringify({ ...chat, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
};

it("OpenAI's client streams a chat from a remote version", async () => {
  const { client, access } = world;
  await client.fetch("POST", "/models", { body: { name: "far" } });
  await client.fetch("PUT", `/models/${MODEL}/variables/FAR_KEY`, {
    body: { value: "sk-far" },
  });
  const url = `${host.url}/v1`;
  const remote = { url, api: "openai", model: "gpt-far", key_variable: "FAR_KEY" };
  await client.fetch("POST", `/models/${MODEL}/versions`, {
    body: { release_notes: "", configuration: { interface: "remote", remote } },
  });
  const texts = ["Hel", "lo"].map((content) => chunk({ role: "assistant", content }));
  host.script("/v1/chat/completions", [
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
  expect(host.of("/v1/chat/completions")).toMatchObject([
    { headers: { authorization: "Bearer sk-far" } },
  ]);
  await wire.settle();
});
