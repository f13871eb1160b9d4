/** The response resource: it repeats the request, and is valid for every request. */

import { ResponseStream as ClientStream } from "openai/lib/responses/ResponseStream";
import { expect, test } from "vitest";
import { responseOf } from "../../../src/domain/openai/response-stream.ts";
import type { LogEntry } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { expectResponse, objections } from "../../published/validate.ts";
import { delta, done, END, failed, headWith, logOf, tell } from "./response-log.ts";

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

/** Assembles the events like the client does with a stream from another machine: one line for each. */
async function put(log: LogEntry[]) {
  const { events, resource } = tell(log);
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const stream = ClientStream.fromReadableStream(new Blob([lines]).stream());
  const seen: string[] = [];
  stream.on("event", ({ type }) => seen.push(type));
  const response = await stream.finalResponse();
  expect(seen).toEqual(events.map(({ type }) => type));
  return { response, resource };
}

const call = (index: number, id: string, args: string) =>
  delta({ tool_calls: [{ index, id, function: { name: "sum", arguments: args } }] });

const EVERYTHING = [
  delta({ reasoning_content: "Let me see." }),
  delta({ content: "Fo" }),
  delta({ content: "ur." }),
  delta({ refusal: "No more." }),
  call(0, "call_a", '{"a":'),
  call(1, "call_b", "{}"),
  call(0, "call_a", "1}"),
];

test.each([
  ["completed", done()],
  ["failed", failed("gone")],
])(
  "the client assembles reasoning, text, a refusal and calls in turns, and then %s",
  async (status, end) => {
    const { response, resource } = await put(logOf(EVERYTHING, end));
    expect(response.status).toBe(status);
    expect(response.output).toMatchObject(resource.output);
    expect(response.output_text).toBe("Four.");
  },
);

test("the client assembles an incomplete response", async () => {
  const { response } = await put(logOf([delta({ content: "Once" }, "length")]));
  expect(response).toMatchObject({ status: "incomplete", output_text: "Once" });
});

test("the client assembles the output that came before a cancel", async () => {
  const { response } = await put(logOf([delta({ content: "Once" })], done({ status: "canceled" })));
  expect(response).toMatchObject({ status: "in_progress", output_text: "Once" });
});

test("the client assembles a container's own events, and a whole answer in one event", async () => {
  const item = {
    id: "msg_1",
    type: "message",
    content: [{ type: "output_text", text: "Four.", annotations: [] }],
  };
  const own = { id: "resp_theirs", object: "response", status: "completed", output: [item] };
  const answers: Json[][] = [
    [own],
    [
      { type: "response.created", response: own },
      { type: "response.output_item.added", item: { ...item, content: [] } },
      { type: "response.output_text.delta", item_id: "msg_1", delta: "Four." },
      { type: "response.completed", response: own },
    ],
  ];
  for (const outputs of answers) {
    const { response, resource } = await put(logOf(outputs));
    expect(response).toMatchObject({ id: resource.id, output_text: "Four." });
    expect(response.output).toMatchObject(resource.output);
  }
});
