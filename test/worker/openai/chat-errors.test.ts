/** Errors of chat completions in the convention's format: errors of the model and of the request. */
import { describe, expect, test } from "vitest";
import { expectErrorBody } from "../../published/validate.ts";
import { chat, failed, newOpenAi, refused } from "../support/openai.ts";

const { client, model, fleet, username } = await newOpenAi();

describe("a failure", () => {
  const about = { message: "no", type: "t", param: "top_p", code: "c" };
  const cases = [
    [refused(422, about), 422, about],
    [refused(429, about), 429, about],
    [refused(401, about), 502, { code: "model_error" }],
    [failed("external", "it crashed"), 502, { message: "it crashed", code: "model_error" }],
    [failed("internal", "no runner"), 500, { message: "no runner", code: "server_error" }],
  ] as const;

  test.each(cases)("a run that ends with %j is answered with %i", async (finish, status, error) => {
    const asked = chat(client, model);
    const { channel } = await fleet.work();
    await channel.report([], finish);
    const response = await asked;
    expect(response.status).toBe(status);
    expect(response.headers.get("x-should-retry")).toBe(status === 429 ? null : "false");
    const body = await response.json();
    expectErrorBody(body);
    const detail = status === 422 ? { detail: [{ loc: ["body", "top_p"], msg: "no" }] } : {};
    expect(body).toMatchObject({ error, ...detail });
  });
});

describe("a request", () => {
  test.each([
    [`${username}/none`, "model_not_found"],
    ["nonsense", "model_not_found"],
    [`${model}:99`, "model_not_found"],
  ])(
    "a request for the model %s is a 404, whatever else is wrong with it",
    async (unknown, code) => {
      const response = await chat(client, unknown, { messages: "nonsense" });
      expect(response.status).toBe(404);
      const body = await response.json();
      expectErrorBody(body);
      expect(body).toMatchObject({ error: { code, param: "model" } });
    },
  );

  test("a request for a model named with 200 octopuses is a 404", async () => {
    expect((await chat(client, "🐙".repeat(200))).status).toBe(404);
  });

  test("a version without any compatibility is a 400 that says how its owner can set it", async () => {
    const { client: other, model: bare } = await newOpenAi({ compatibilities: {} });
    const response = await chat(other, bare);
    expect(response.status).toBe(400);
    const { error } = await response.json<{ error: { message: string; code: string } }>();
    expect(error).toMatchObject({ code: "unsupported_model", param: "model" });
    expect(error.message).toContain('"compatibilities": {"vendora_chat_completions": true}');
  });

  test.each([
    [{ messages: undefined }, "messages", "missing_required_parameter"],
    [{ messages: [{ role: 5 }] }, "messages[0].role", "invalid_type"],
    [{ model: "" }, "model", "invalid_value"],
  ])("a chat with %j is a 422 with both error bodies", async (wrong, param, code) => {
    const response = await chat(client, model, wrong);
    expect(response.status).toBe(422);
    const body = await response.json();
    expectErrorBody(body);
    expect(body).toMatchObject({
      detail: [{ loc: ["body", ...param.split(/[.[\]]+/).filter(Boolean)] }],
      error: { param, code, type: "invalid_request_error" },
    });
  });

  test("requests without a token, JSON or a known path get errors in the convention's format", async () => {
    const path = "/v1/vendora/chat/completions";
    const responses = await Promise.all([
      client.fetch(path, { method: "POST", headers: { authorization: "Bearer nonsense" } }),
      client.fetch(path, { method: "POST", headers: { "content-type": "text/plain" }, body: "a" }),
      client.post(path, "{"),
      client.fetch("/v1/vendora/nothing"),
      client.fetch(path),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([401, 415, 422, 404, 405]);
    for (const response of responses) {
      expect(response.headers.get("x-request-id")).toMatch(/./);
      expectErrorBody(await response.json());
    }
  });
});
