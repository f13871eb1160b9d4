/** Tools as coding agents send them: those that the model gets, those left out, and those refused. */
import { expect, test } from "vitest";
import { answer, chunk, newOpenAi } from "../support/openai.ts";

const { client, model, fleet } = await newOpenAi();

const PATH = "/v1/vendora/responses";
const PATCH = { type: "custom", name: "apply_patch", description: "Edits files" };
const GIT = {
  type: "namespace",
  name: "git",
  description: "Of the repository",
  tools: [{ type: "function", name: "log", parameters: { type: "object" }, strict: null }],
};
const tools = [PATCH, GIT, { type: "web_search" }, { type: "image_generation" }];

const create = (more: object = {}) => client.post(PATH, { model, input: "Go on", tools, ...more });

const call = (name: string, args: string) =>
  chunk({ tool_calls: [{ index: 0, id: "c", function: { name, arguments: args } }] });

test("calls have the kind of the requested tool, and a header names the tools that are left out", async () => {
  const log = call("git__log", "{}");
  const [response, job] = await Promise.all([create(), answer(fleet, log)]);
  expect(response.headers.get("auspex-tools-left-out")).toBe("web_search, image_generation");
  expect(job.input).toMatchObject({ tools: [PATCH, GIT] });
  const { id, output } = await response.json<{ id: string; output: object[] }>();
  expect(output).toMatchObject([
    { type: "function_call", namespace: "git", name: "log", arguments: "{}", call_id: "c" },
  ]);
  const done = [{ type: "function_call_output", call_id: "c", output: "nothing" }];
  const [next, then] = await Promise.all([
    create({ previous_response_id: id, input: done, stream: true }),
    answer(fleet, call("apply_patch", '{"input":"*"}')),
  ]);
  expect(then.input).toMatchObject({ input: [{}, { namespace: "git", name: "log" }, ...done] });
  expect(next.headers.get("auspex-tools-left-out")).toBe("web_search, image_generation");
  const events = await next.text();
  expect(events).toContain("event: response.custom_tool_call_input.done");
  expect(events).toContain('"type":"custom_tool_call"');
});

test("the header of left-out tools is absent if none is, and never has a caller's words", async () => {
  for (const given of [[PATCH], [{ type: "a\r\nset-cookie: b" }]]) {
    const [response] = await Promise.all([create({ tools: given }), answer(fleet, "on")]);
    expect(response.status).toBe(200);
    expect(response.headers.has("auspex-tools-left-out")).toBe(false);
  }
});

test("a tool_choice of a tool that is not available is refused", async () => {
  const response = await create({ tool_choice: { type: "web_search" } });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { param: "tool_choice", code: "unsupported_parameter" },
  });
});

test("items that the model does not support are left out for it and named, and kept for the caller", async () => {
  const input = [
    { role: "user", content: "Go on" },
    { type: "web_search_call", id: "w", status: "completed", action: { type: "search" } },
  ];
  const [response, job] = await Promise.all([create({ input }), answer(fleet, "on")]);
  expect(response.status).toBe(200);
  expect(response.headers.get("auspex-content-left-out")).toBe("web_search_call");
  expect(job.input).toMatchObject({ input });
});

test("tools that come with the conversation are given to the model, also in the next response", async () => {
  const later = { type: "function", name: "later", parameters: { type: "object" } };
  const input = [
    { role: "user", content: "Go on" },
    { type: "additional_tools", role: "developer", tools: [later] },
  ];
  const [first, job] = await Promise.all([
    create({ input, tools: [PATCH] }),
    answer(fleet, call("later", "{}")),
  ]);
  expect(job.input).toMatchObject({ tools: [PATCH, later] });
  const { id } = await first.json<{ id: string }>();
  const [, next] = await Promise.all([
    create({ previous_response_id: id, tools: [PATCH] }),
    answer(fleet, "on"),
  ]);
  expect(next.input).toMatchObject({ tools: [PATCH, later] });
});

test("a compaction that another service made is refused before anything runs", async () => {
  const input = [{ type: "compaction", encrypted_content: "theirs" }];
  const response = await create({ input });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { param: "input[0]", code: "unsupported_parameter" },
  });
});
