/** Chat completions of the OpenAI convention: whole answers, limits, repeats and callers that leave. */
import { afterEach, describe, expect, test } from "vitest";
import { expectChatCompletion } from "../../published/validate.ts";
import { answer, chat, completion, dataOf, MESSAGES, newOpenAi, usage } from "../support/openai.ts";
import { startClock } from "../support/time.ts";

const { client, model, fleet } = await newOpenAi();

afterEach(startClock);

describe("a plain chat", () => {
  test("a chat is answered with the container's completion, under the caller's name of the model", async () => {
    const body = { temperature: 0.5, some_field: { of: "ours" } };
    const [response, job] = await Promise.all([
      chat(client, model, body),
      answer(fleet, completion("on and on")),
    ]);
    expect(job).toMatchObject({ call: "chat_completions", interface: "vendora" });
    expect(job.input).toEqual({ model, messages: MESSAGES, ...body });
    expect(response.status).toBe(200);
    const answered = await response.json();
    expectChatCompletion(answered);
    expect(answered).toMatchObject({
      id: `chatcmpl-${job.prediction_id.replaceAll("-", "")}`,
      model,
      choices: [{ message: { content: "on and on" }, finish_reason: "stop" }],
      usage,
    });
  });

  test.each([
    [{ max_tokens: 2 }, "length"],
    [{ max_completion_tokens: 2 }, "length"],
    [{ max_tokens: 3 }, "stop"],
  ])(
    "a chat with %j whose container gives no finish_reason has the finish_reason %s",
    async (limit, reason) => {
      const [plain] = await Promise.all([chat(client, model, limit), answer(fleet, "on", " and")]);
      expect(await plain.json()).toMatchObject({ choices: [{ finish_reason: reason }] });
      const [streamed] = await Promise.all([
        chat(client, model, { ...limit, stream: true }),
        answer(fleet, "on", " and"),
      ]);
      expect((await dataOf(streamed)).at(-2)).toMatchObject({
        choices: [{ finish_reason: reason }],
      });
    },
  );
});
