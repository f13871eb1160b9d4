/** The response resource: it repeats the request, and is valid for every request. */
import { expect, test } from "vitest";
import { responseOf } from "../../../src/domain/openai/response-stream.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { expectResponse, objections } from "../../published/validate.ts";
import { END, headWith } from "./response-log.ts";

const resourceOf = (request: Record<string, Json>) =>
  responseOf(headWith(request), { ...END, output: "Hi" });

const sum = { type: "function", name: "sum" };

test("fields that the request does not have have the defaults of OpenAI's API", () => {
  const resource = resourceOf({});
  expectResponse(resource);
  expect(resource).toMatchObject({
    background: false,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    parallel_tool_calls: true,
    previous_response_id: null,
    service_tier: "default",
    store: true,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
  });
});

test("fields of the request are repeated", () => {
  const asked = {
    background: true,
    frequency_penalty: 0.5,
    instructions: "Be brief.",
    max_output_tokens: 100,
    max_tool_calls: 3,
    metadata: { a: "b" },
    parallel_tool_calls: false,
    presence_penalty: -0.5,
    previous_response_id: "resp_1",
    prompt_cache_key: "k",
    reasoning: { effort: "high", summary: "auto" },
    safety_identifier: "s",
    store: false,
    temperature: 0,
    text: { format: { type: "json_object" }, verbosity: "low" },
    tool_choice: { type: "function", name: "sum" },
    tools: [{ ...sum, description: "Adds", parameters: { type: "object" }, strict: true }],
    top_logprobs: 5,
    top_p: 0.5,
    truncation: "auto",
  };
  const resource = resourceOf(asked);
  expectResponse(resource);
  expect(resource).toMatchObject(asked);
});

test.each(["none", "required", { type: "allowed_tools", mode: "required", tools: [sum] }])(
  "a response repeats tool_choice %j",
  (tool_choice) => {
    const resource = resourceOf({ tool_choice, tools: [sum] });
    expectResponse(resource);
    expect(resource.tool_choice).toEqual(tool_choice);
    expect(resource.tools).toEqual([{ ...sum, description: null, parameters: null, strict: null }]);
  },
);

test("a JSON schema is repeated, which only Open Responses does not allow", () => {
  const format = { type: "json_schema", name: "n", schema: { type: "object" } };
  const resource = resourceOf({ text: { format } });
  expect(resource.text.format).toEqual({ ...format, description: "", strict: false });
  const { usage: _, ...unfinished } = resource;
  expect(objections("openai", "Response", unfinished)).toEqual([]);
  const against = objections("open-responses", "ResponseResource", resource);
  expect(against.some((one) => one.includes("/text"))).toBe(true);
  expect(against.filter((one) => !one.includes("#/text") && !one.includes("#: "))).toEqual([]);
});

const WRONG: Json[] = [
  null,
  "?",
  "x".repeat(100),
  -7,
  1e9,
  0.5,
  true,
  [],
  [null, 1, {}],
  {},
  { type: "x", a: [] },
];

test.each(Object.keys(resourceOf({})))("a request with any value of %s is answered", (name) => {
  for (const wrong of WRONG) expectResponse(resourceOf({ [name]: wrong }));
});
