/** What servers are asked instead of what they cannot know, and what callers hear of their refusals. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { CHAT, connect, FakeServer, json } from "../support/vendora-server.ts";

const PATCH = { type: "custom", name: "apply_patch" };
const GIT = { type: "namespace", name: "git", description: "", tools: [] };
const input: Record<string, Json>[] = [
  { role: "developer", content: "One" },
  { role: "user", content: "Two" },
  { type: "custom_tool_call", call_id: "1", name: "apply_patch", input: "*" },
  { type: "custom_tool_call_output", call_id: "1", output: "done" },
];
const asked = { model: "ada/parrot", instructions: "Be brief.", input, tools: [PATCH, GIT] };

const named = [{ type: "function", name: "apply_patch" }];

describe("a response", () => {
  it("is asked with functions of a server that has an endpoint for it", async () => {
    const server = await FakeServer.start({ "/v1/responses": json(200, { model: "served" }) });
    const { run } = await connect(server);
    expect((await run("responses", asked).outcome).finish).toMatchObject({ status: "succeeded" });
    const [body] = server.bodies("/v1/responses");
    const types = [{ type: "function_call" }, { type: "function_call_output" }];
    expect(body).toMatchObject({ tools: named, input: [{}, {}, ...types] });
  });

  it("that a chat is made of is refused by the places that its caller knows", async () => {
    const error = (param: string) => ({ error: { message: `${param} is too long`, param } });
    for (const [theirs, callers] of [
      ["messages[0].content", "instructions.content"],
      ["messages[1].content", "input[1].content"],
      ["messages[2].tool_calls[0].function.arguments", "input[2].arguments"],
      ["tools[0].function.name", "tools[0].name"],
    ] as const) {
      const server = await FakeServer.start({ [CHAT]: json(400, error(theirs)) });
      const { run } = await connect(server);
      const { finish } = await run("responses", asked).outcome;
      expect(server.bodies(CHAT)).toHaveLength(1);
      const message = `${callers} is too long`;
      expect(finish.error).toMatchObject({
        message,
        detail: { error: { message, param: callers } },
      });
    }
  });
});
