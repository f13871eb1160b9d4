/** The events of a response that a log becomes: text, and every way to end. */
import { expect, test } from "vitest";
import { ResponseStream, responseOf } from "../../../src/domain/openai/response-stream.ts";
import { expectResponse } from "../../published/validate.ts";
import {
  delta,
  done,
  END,
  failed,
  headWith,
  ID,
  logOf,
  outline,
  output,
  pending,
  started,
  tell,
} from "./response-log.ts";

const TEXT = [
  ...["response.created", "response.in_progress", "response.output_item.added"],
  ...["response.content_part.added", "response.output_text.delta", "response.output_text.done"],
  ...["response.content_part.done", "response.output_item.done", "response.completed"],
];

test("a text in pieces has the events in OpenAI's order, and the whole text at the end", () => {
  const { types, resource, events } = tell(logOf(["The", " Queen", " sighed."]));
  expect(outline(types)).toEqual(TEXT);
  expect(types.filter((type) => type.endsWith(".delta"))).toHaveLength(3);
  expect(resource).toMatchObject({
    id: ID,
    object: "response",
    status: "completed",
    created_at: 1_790_000_000,
    completed_at: 1_795_248_009,
    model: "demo/story",
    output: [
      {
        type: "message",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "The Queen sighed.", annotations: [] }],
      },
    ],
  });
  expect(events.at(-1)?.response).toEqual(resource);
});

test("the first event is sent before the prediction has started, without output", () => {
  const stream = new ResponseStream(headWith());
  const [created, ...more] = stream.take(pending);
  expect(more).toEqual([]);
  expect(created).toMatchObject({
    type: "response.created",
    sequence_number: 0,
    response: { status: "in_progress", output: [], usage: null, completed_at: null },
  });
});

test("a background response is queued until a runner has it", () => {
  const { types, events } = tell([...logOf(["Hi"])], { background: true });
  expect(types.slice(0, 3)).toEqual([
    "response.created",
    "response.queued",
    "response.in_progress",
  ]);
  const statuses = events.slice(0, 3).map(({ response }) => response);
  expect(statuses).toMatchObject([
    { status: "queued", background: true },
    { status: "queued" },
    { status: "in_progress" },
  ]);
});

test("logs, setup and metrics send no events, and a second attempt does not begin again", () => {
  const { types } = tell([
    pending,
    started,
    { event: "setup", data: { phase: "pulling" } },
    { event: "logs", data: "loading" },
    { event: "status", data: { status: "pending" } },
    { event: "status", data: { status: "started", attempt: 2 } },
    output("Hi"),
    { event: "metrics", data: { output_tokens: 1 } },
    { event: "status", data: { status: "succeeded" } },
    done(),
  ]);
  expect(types).toEqual(TEXT);
});

test("an output begins the response when the log has no start", () => {
  const { types } = tell([pending, output("Hi"), done()]);
  expect(types).toEqual(TEXT);
});

test("no event follows the end", () => {
  const stream = new ResponseStream(headWith());
  for (const entry of logOf(["Hi"])) stream.take(entry);
  const end = stream.resource();
  expect(stream.take(output("more"))).toEqual([]);
  expect(stream.take(done())).toEqual([]);
  expect(stream.resource()).toEqual(end);
});

test("a model without output has an empty message", () => {
  const { types, resource } = tell(logOf([""]));
  expect(types).toEqual(TEXT.filter((type) => !type.endsWith(".delta")));
  expect(resource.output).toMatchObject([{ type: "message", content: [{ text: "" }] }]);
});

test("the output of a list is that of its parts, and a completion is sent like its chunks", () => {
  const listed = tell(logOf([["The", " Queen"]]));
  expect(listed.resource.output).toMatchObject([{ content: [{ text: "The Queen" }] }]);
  const message = { role: "assistant", content: "The Queen" };
  const deep = JSON.parse(`${"[".repeat(50_000)}"The Queen"${"]".repeat(50_000)}`);
  expect(tell(logOf([deep])).resource).toEqual(listed.resource);
  const whole = tell(logOf([{ choices: [{ index: 0, message, finish_reason: "stop" }] }]));
  expect(whole.types).toEqual(TEXT);
  expect(whole.resource).toEqual(listed.resource);
});

test("the first of several choices is the answer", () => {
  const other = { index: 1, delta: { content: "No" }, finish_reason: "length" };
  const { resource } = tell(logOf([delta({ content: "Yes" }), { choices: [other] }]));
  expect(resource.status).toBe("completed");
  expect(resource.output).toMatchObject([{ content: [{ text: "Yes" }] }]);
});

test("log probabilities come with the text, with every field that the schemas require", () => {
  const logprobs = {
    content: [
      { token: "Hi", logprob: -0.1, bytes: null, top_logprobs: [{ token: "Hi", logprob: -0.1 }] },
    ],
  };
  const chunk = { choices: [{ index: 0, delta: { content: "Hi" }, logprobs }] };
  const { events, resource } = tell(logOf([chunk, chunk]));
  const one = {
    token: "Hi",
    logprob: -0.1,
    bytes: [],
    top_logprobs: [{ token: "Hi", logprob: -0.1, bytes: [] }],
  };
  expect(events.find(({ type }) => type.endsWith("text.delta"))?.logprobs).toEqual([one]);
  expect(events.find(({ type }) => type.endsWith("part.added"))?.part).toMatchObject({
    logprobs: [],
  });
  expect(resource.output).toMatchObject([{ content: [{ logprobs: [one, one] }] }]);
});

test.each([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
])("an answer that ends with %s is incomplete, and so is its last item", (finish, reason) => {
  const { types, resource } = tell(logOf(["Once upon", delta({ content: " a" }, finish)]));
  expect(types.at(-1)).toBe("response.incomplete");
  expect(resource).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason },
    completed_at: null,
    output: [{ status: "incomplete", content: [{ text: "Once upon a" }] }],
  });
});

test("a failure after output ends the open items and then has its reason", () => {
  const { types, resource } = tell(logOf(["Once"], failed("The container ran out of memory.")));
  expect(types.slice(-2)).toEqual(["response.output_item.done", "response.failed"]);
  expect(resource).toMatchObject({
    status: "failed",
    completed_at: null,
    error: {
      code: "server_error",
      message: "The container ran out of memory.",
      type: "server_error",
      param: null,
    },
    output: [{ status: "incomplete", content: [{ text: "Once" }] }],
  });
});

test("a failure before the start has the events created and failed", () => {
  const { types, resource } = tell([pending, failed("No runner took it in time.")]);
  expect(types).toEqual(["response.created", "response.failed"]);
  expect(resource.output).toEqual([]);
});

test.each([
  [{ status: 429, error: { code: null } }, "rate_limit_exceeded"],
  [{ status: 400, error: { code: "invalid_prompt" } }, "invalid_prompt"],
  [{ status: 400, error: { code: "context_length_exceeded" } }, "context_length_exceeded"],
  [{ status: 503, error: { code: "rate_limit_exceeded" } }, "rate_limit_exceeded"],
  [{ status: 500, error: {} }, "server_error"],
  [null, "server_error"],
])("the code of a failure is one of OpenAI's: %j", (detail, code) => {
  expect(tell([pending, failed("no", detail)]).resource.error).toMatchObject({ code });
});

test("a canceled response ends its stream without an event, and the resource has the status", () => {
  const log = [pending, started, output("Once"), done({ status: "canceled" })];
  const { types, resource } = tell(log);
  expect(types.at(-1)).toBe("response.output_text.delta");
  expect(resource).toMatchObject({
    status: "cancelled",
    error: null,
    output: [{ status: "incomplete", content: [{ text: "Once" }] }],
  });
});

test("an output that cannot be translated fails the response, even when the log says succeeded", () => {
  const log = logOf(["Once", { image: "…" }, " upon"]);
  const { types, resource } = tell(log);
  expect(types.at(-1)).toBe("response.failed");
  expect(resource).toMatchObject({
    error: { code: "server_error", message: expect.stringContaining("The model's output is") },
    output: [{ status: "incomplete", content: [{ text: "Once" }] }],
  });
  expect(tell([...log.slice(0, -1), done({ status: "canceled" })]).resource).toMatchObject({
    status: "cancelled",
  });
  const own = tell([...log.slice(0, -1), failed("It crashed.")]).resource;
  expect(own.error).toMatchObject({ message: "It crashed." });
});

test("usage is the model's own with its details, else the metrics, else zeros", () => {
  const usage = {
    prompt_tokens: 5,
    completion_tokens: 7,
    total_tokens: 12,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 2 },
  };
  const metrics = done({ metrics: { input_tokens: 3, output_tokens: 1 } });
  expect(tell(logOf(["Hi", { choices: [], usage }], metrics)).resource.usage).toEqual({
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 12,
  });
  expect(tell(logOf(["Hi"], metrics)).resource.usage).toMatchObject({
    input_tokens: 3,
    output_tokens: 1,
    total_tokens: 4,
  });
  expect(tell(logOf(["Hi"])).resource.usage).toMatchObject({ total_tokens: 0 });
});

test("the resource of a running response has the output so far", () => {
  const stream = new ResponseStream(headWith());
  for (const entry of logOf(["Once", " upon"]).slice(0, -1)) stream.take(entry);
  const resource = stream.resource();
  expectResponse(resource);
  expect(resource).toMatchObject({
    status: "in_progress",
    usage: null,
    output: [{ status: "in_progress", content: [{ text: "Once upon" }] }],
  });
});

test.each([
  ["pending", null, true, "queued"],
  ["pending", null, false, "in_progress"],
  ["started", null, true, "in_progress"],
  ["started", ["Once"], false, "in_progress"],
  ["succeeded", "Once", false, "completed"],
  ["succeeded", ["On", "ce"], true, "completed"],
  ["succeeded", null, false, "completed"],
  ["failed", ["Once"], false, "failed"],
  ["canceled", ["Once"], true, "cancelled"],
] as const)("of a prediction that is %s with output %j (background: %s): %s", (...given) => {
  const [status, made, background, expected] = given;
  const error = { source: "external" as const, message: "no", detail: null };
  const resource = responseOf(headWith({ background }), {
    ...END,
    status,
    output: typeof made === "object" && made ? [...made] : made,
    error: status === "failed" ? error : null,
  });
  expectResponse(resource);
  expect(resource.status).toBe(expected);
  if (made) expect(resource.output).toMatchObject([{ content: [{ text: "Once" }] }]);
});

test("a response can have very much output", () => {
  const output = Array.from({ length: 200_000 }, () => "word ");
  const resource = responseOf(headWith(), { ...END, output });
  expect(resource.output).toMatchObject([{ content: [{ text: "word ".repeat(200_000) }] }]);
});
