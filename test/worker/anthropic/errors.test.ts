/** Errors of messages in the convention's format: errors of the model and of the request. */
import { describe, expect, test } from "vitest";
import { checkedError } from "../../published/anthropic.ts";
import { ask, errorOf, PATH } from "../support/anthropic.ts";
import { ALL, failed, newOpenAi, refused } from "../support/openai.ts";

const { client, model, fleet, username } = await newOpenAi();

describe("a failure", () => {
  const about = { message: "no", type: "t", param: null, code: "c" };
  const cases = [
    [refused(422, about), 422, "invalid_request_error", "no"],
    [refused(413, about), 413, "invalid_request_error", "no"],
    [refused(429, about), 429, "rate_limit_error", "no"],
    [refused(503, about), 503, "overloaded_error", "no"],
    [refused(401, about), 502, "api_error", "the container refused"],
    [failed("external", "it crashed"), 502, "api_error", "it crashed"],
    [failed("internal", "no runner"), 500, "api_error", "no runner"],
  ] as const;

  test.each(cases)(
    "a run that ends with %j is answered with %i",
    async (finish, status, type, message) => {
      const asked = ask(client, model);
      const { channel } = await fleet.work();
      await channel.report([], finish);
      const retry = status === 429 || status === 503 ? null : "false";
      expect(await errorOf(asked)).toEqual({ status, type, message, retry });
    },
  );

  test("an error of an exceeded context begins with 'prompt is too long', which agents look for", async () => {
    const asked = ask(client, model);
    const { channel } = await fleet.work();
    const error = { ...about, message: "maximum context length", code: "context_length_exceeded" };
    await channel.report([], refused(400, error));
    const message = "prompt is too long: maximum context length";
    expect(await errorOf(asked)).toMatchObject({ type: "invalid_request_error", message });
  });
});

describe("a request", () => {
  test.each([`${username}/none`, "claude-sonnet-4-5", `${model}:99`])(
    "a request for the model %s is a 404, whatever else is wrong with it",
    async (unknown) => {
      expect(await errorOf(ask(client, unknown, { messages: "nonsense" }))).toMatchObject({
        status: 404,
        type: "not_found_error",
        message: expect.stringContaining("GET /anthropic/v1/models"),
      });
    },
  );

  test("a version that neither chats nor has messages is a 400 that says so", async () => {
    const compatibilities = { ...ALL, vendora_chat_completions: false };
    const { client: other, model: bare } = await newOpenAi({ compatibilities });
    expect(await errorOf(ask(other, bare))).toMatchObject({
      status: 400,
      message: expect.stringContaining("does not support messages or chat completions"),
    });
  });

  test.each([
    [{ messages: undefined }, "messages"],
    [{ messages: [{ role: "user" }] }, "messages.0.content"],
    [{ tool_choice: { type: "required" } }, "tool_choice.type"],
  ])("a message with %j is a 422 with both error bodies", async (wrong, path) => {
    const response = await ask(client, model, wrong);
    expect(response.status).toBe(422);
    const body = await response.json();
    expect(body).toMatchObject({ detail: [{ loc: ["body", ...path.split(".")] }] });
    const { error } = checkedError(body);
    expect(error.type).toBe("invalid_request_error");
    expect(error.message.startsWith(`${path}: `)).toBe(true);
  });

  test("requests without a token, JSON or a known path get errors in the convention's format", async () => {
    const nobody = { method: "POST", headers: { authorization: "", "x-api-key": "nonsense" } };
    const plain = { method: "POST", headers: { "content-type": "text/plain" }, body: "a" };
    const cases: [Promise<Response>, number, string][] = [
      [client.fetch(PATH, nobody), 401, "authentication_error"],
      [
        client.fetch(PATH, { ...nobody, headers: { authorization: "" } }),
        401,
        "authentication_error",
      ],
      [client.fetch(PATH, plain), 415, "invalid_request_error"],
      [client.post(PATH, "{"), 422, "invalid_request_error"],
      [client.fetch("/v1/vendorb/nothing"), 404, "not_found_error"],
      [client.post("/v1/vendorb/v1/messages/batches", {}), 404, "not_found_error"],
      [client.fetch(PATH), 405, "invalid_request_error"],
    ];
    for (const [asked, status, type] of cases)
      expect(await errorOf(asked)).toMatchObject({ status, type });
  });

  test("a token in x-api-key is a 401 outside the convention", async () => {
    const { token = "" } = client;
    const response = await client.fetch("/v1/predictions", {
      headers: { authorization: "", "x-api-key": token },
    });
    expect(response.status).toBe(401);
  });
});

test("a request that continues a thread is a thread_not_found, so that the client sends all of it", async () => {
  const thread = { type: "continue", previous_message_id: "msg_1" };
  const response = await ask(client, model, { thread });
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { error: { type: "not_found_error", details: { error_code: "thread_not_found" } } },
  ]);
});
