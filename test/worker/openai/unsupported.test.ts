/** Calls with parameters that the model's schema does not have. */
import { expect, test } from "vitest";
import { expectErrorBody } from "../../published/validate.ts";
import { answer, chat, newOpenAi } from "../support/openai.ts";

const worldOf = (spoken: "cog" | "vendora", ...properties: string[]) =>
  newOpenAi({
    configuration: { interface: spoken },
    input: {
      type: "object",
      properties: Object.fromEntries(properties.map((name) => [name, {}])),
    },
  });

async function refusal(response: Response) {
  expect(response.status).toBe(400);
  expect(response.headers.get("auspex-prediction-id")).toBeNull();
  const body = await response.json<{ error: { message: string; code: string; param: string } }>();
  expectErrorBody(body);
  return body.error;
}

test.each([false, true])("a chat with a Cog model is refused (stream: %s)", async (stream) => {
  const { client, model } = await worldOf("cog", "messages", "tools");
  const error = await refusal(await chat(client, model, { tool_choice: "required", stream }));
  expect(error).toMatchObject({ code: "unsupported_parameter", param: "tool_choice" });
  expect(error.message).toContain(`the input schema of '${model}' does not have 'tool_choice'`);
  expect(await client.ok("GET", "/v1/predictions")).toMatchObject({ items: [] });
});

test("a server of the convention gets parameters that its schema does not have", async () => {
  const { client, model, fleet } = await worldOf("vendora", "messages");
  const asked = { tool_choice: "required", n: 2 };
  const [response, job] = await Promise.all([chat(client, model, asked), answer(fleet, "on")]);
  expect([response.status, job.input]).toMatchObject([200, asked]);
});
