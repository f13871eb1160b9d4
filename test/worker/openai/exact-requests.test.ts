/** Requests of all conventions reach their container with their digits and order unchanged. */
import { expect, test } from "vitest";
import { memberText } from "../../../src/lib/json-text.ts";
import { claimResponse } from "../../../src/protocol/runner.ts";
import { completion, newOpenAi } from "../support/openai.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

const { client, model, fleet } = await newOpenAi();

/** Sends a request. Returns the input as the runner receives it, and the answer. */
async function call(path: string, body: string, output = JSON.stringify(completion("on"))) {
  const headers = { "content-type": "application/json", "content-length": String(body.length) };
  const answered = client.fetch(path, { method: "POST", headers, body });
  const text = await (await fleet.poll()).text();
  const [job] = fleet.received(claimResponse.parse(JSON.parse(text)).jobs);
  if (!job) throw new Error("the poll was answered without a job");
  const finish = '{"status":"succeeded","output":"value"}';
  const events = `[{"event":"output","data":${output}}]`;
  const frame = `{"type":"events","seq":1,"events":${events},"finish":${finish}}`;
  await (await fleet.connect(job)).exchange(frame);
  const response = await answered;
  expect(response.status).toBe(200);
  const input = memberText((memberText(text, "jobs") ?? "").slice(1, -1), "input") ?? "";
  return { input, answer: await response.text() };
}

const sampling = '"seed":18446744073709551615,"temperature":1.0,"logit_bias":{"2":-0,"1":1e2}';
const schema = '{"maximum":18446744073709551615,"minimum":1.0}';
const said = '[{"role":"user","content":"hi"}]';
const tool = (more: string) => `"tools":[{"type":"function",${more}}]`;
const flat = tool(`"name":"f","parameters":${schema}`);
const used = `{"type":"tool_use","id":"a","name":"f","input":${schema}}`;

test.each([
  [
    "a chat",
    "a/chat/completions",
    `"messages":${said},${tool(`"function":{"name":"f","parameters":${schema}}`)}`,
  ],
  ["a completion", "a/completions", '"prompt":["hi"]'],
  ["a response", "a/responses", `"input":${said},${flat}`],
  [
    "a message",
    "b/messages",
    `"max_tokens":9,"messages":[{"role":"assistant","content":[${used}]}],"tools":[{"name":"f","input_schema":${schema}}]`,
  ],
])("%s reaches its container exactly as it was sent", async (_, path, fields) => {
  const body = `{"model":"${model}",${sampling},${fields}}`;
  expect((await call(`/v1/vendor${path}`, body)).input).toBe(body);
});

test("a message with a small image, whose sender is looked up with its model, is the same", async () => {
  const image = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${"A".repeat(4_000)}"}}`;
  const messages = `[{"role":"user","content":[${image}]}]`;
  const body = `{"model":"${model}",${sampling},"max_tokens":9,"messages":${messages}}`;
  const known = await call("/v1/vendorb/messages", body);
  // A token is remembered for 10 s.
  stopClock();
  advance(11);
  const lookedUp = await call("/v1/vendorb/messages", body);
  startClock();
  expect(known.input).toContain("A".repeat(4_000));
  expect(lookedUp.input).toBe(known.input);
});

test("a response that continues another one keeps the digits and the order of its fields", async () => {
  const path = "/v1/vendora/responses";
  const first = await call(path, `{"model":"${model}","input":"hi"}`);
  const previous = `"previous_response_id":${memberText(first.answer, "id")}`;
  const { input } = await call(
    path,
    `{"model":"${model}","input":${said},${sampling},${flat},${previous}}`,
  );
  expect(memberText(input, "seed")).toBe("18446744073709551615");
  expect(input).toContain(`${sampling},${flat},${previous}`);
});

test("a response repeats the digits of its request, at its end and when it is read again", async () => {
  const path = "/v1/vendora/responses";
  const format = `"text":{"format":{"type":"json_schema","name":"s","schema":${schema}},"verbosity":"low"}`;
  const search = '{"type":"web_search"}';
  const tools = `"tools":[${search},${flat.slice('"tools":['.length, -1)},${search}]`;
  const asked = `"temperature":1.0,"top_p":0.50,"max_output_tokens":1e3,${tools},${format}`;
  const { input, answer } = await call(path, `{"model":"${model}","input":"hi",${asked}}`);
  expect(input).toContain(flat);
  const id: string = JSON.parse(memberText(answer, "id") ?? "");
  const again = await (await client.fetch(`${path}/${id}`)).text();
  for (const text of [answer, again]) {
    expect(memberText(text, "temperature")).toBe("1.0");
    expect(memberText(text, "top_p")).toBe("0.50");
    // Some clients decode it as an integer.
    expect(memberText(text, "max_output_tokens")).toBe("1000");
    expect(memberText(text, "tools")).toContain(`"parameters":${schema}`);
    expect(memberText(text, "text")).toContain(`"schema":${schema}`);
  }
});

test.each([
  ["embeddings", '"input":"hi"', '{"data":[{"index":0,"embedding":[1e-7,1.0,-0,0.10]}]}'],
  ["embeddings", '"input":"hi"', "[[1e-7,1.0,-0,0.10]]"],
  [
    "moderations",
    '"input":"hi"',
    '{"results":[{"flagged":false,"category_scores":{"a":1e-7,"b":1.0}}]}',
  ],
  [
    "rerank",
    '"query":"a","documents":["b","c"]',
    '{"results":[{"index":0,"relevance_score":1e-7},{"index":1,"relevance_score":1.0}]}',
  ],
])("an answer of %s keeps the digits of its model", async (path, fields, output) => {
  const body = `{"model":"${model}",${fields}}`;
  const { answer } = await call(`/v1/vendora/${path}`, body, output);
  for (const [number] of output.matchAll(/1e-7|1\.0|-0\b|0\.10/g)) expect(answer).toContain(number);
});

test("an embedding in base64 has the numbers that its model wrote in any notation", async () => {
  const body = `{"model":"${model}","input":"hi","encoding_format":"base64"}`;
  const { answer } = await call("/v1/vendora/embeddings", body, "[[1e0,1.0]]");
  expect(JSON.parse(answer).data[0].embedding).toBe("AACAPwAAgD8=");
});
