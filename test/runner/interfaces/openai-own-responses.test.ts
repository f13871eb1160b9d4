/** Responses of servers that have both a responses endpoint and chats: the one that supports more is used. */
import { expect, it } from "vitest";
import type { ResponsesVia } from "../../../src/protocol/runner.ts";
import {
  type Answer,
  type Body,
  CHAT,
  chunk,
  connect,
  DONE,
  data,
  events,
  FakeServer,
  json,
  LIMITS,
} from "../support/openai-server.ts";

const OWN = "/v1/responses";
const response = { object: "response", status: "completed", model: "served", output: [] };
const chats = events([data(chunk("on")), DONE]);

const documented = (fields: string[]) => ({
  "/openapi.json": json(200, {
    openapi: "3.1.0",
    paths: {
      [OWN]: {
        post: {
          requestBody: {
            content: { "application/json": { schema: { $ref: "#/components/schemas/Asked" } } },
          },
        },
      },
    },
    components: {
      schemas: {
        Asked: { properties: Object.fromEntries(fields.map((name) => [name, {}])) },
      },
    },
  }),
});

const VLLM = documented(["input", "max_output_tokens", "text", "tools"]);
const SGLANG = documented(["input", "max_output_tokens", "tools"]);
const LLAMA_CPP = {};

const format = { type: "json_schema", name: "a", schema: { type: "object" } };
const hosted = [{ type: "web_search" }];

it.each<[string, Record<string, Answer>, Body, ResponsesVia, string]>([
  ["a server that describes what is asked", VLLM, { text: { format } }, "best", OWN],
  ["a server without the field that is asked", SGLANG, { text: { format } }, "best", CHAT],
  ["the same server for plain text", SGLANG, { text: { format: { type: "text" } } }, "best", OWN],
  ["a server that does not describe itself", LLAMA_CPP, { max_output_tokens: 9 }, "best", CHAT],
  ["what a chat cannot express", LLAMA_CPP, { tools: hosted }, "best", OWN],
  ["a version that has responses alone", LLAMA_CPP, { text: { format } }, "own", OWN],
  ["a version whose vendora_responses is false", VLLM, {}, "chat", CHAT],
])("a response of %s uses the endpoint that supports more", async (_, more, asked, via, path) => {
  const server = await FakeServer.start({ ...more, [OWN]: json(200, response), [CHAT]: chats });
  const { run } = await connect(server);
  const { finish } = await run("responses", { input: "Hi", ...asked }, LIMITS, via).outcome;
  expect(finish).toMatchObject({ status: "succeeded" });
  expect(server.asked.map((one) => one.path).filter((one) => one === OWN || one === CHAT)).toEqual([
    path,
  ]);
});

it("a server without chats is asked for its own responses, at once the next time", async () => {
  const server = await FakeServer.start({ [OWN]: json(200, response) });
  const { run } = await connect(server);
  for (let n = 0; n < 2; n++) await run("responses", { input: "Hi" }, LIMITS, "best").outcome;
  expect(server.bodies(CHAT)).toHaveLength(1);
  expect(server.bodies(OWN)).toHaveLength(2);
});
