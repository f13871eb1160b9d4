/** Requests of all conventions reach their container with their digits and order unchanged. */
import { expect, test } from "vitest";
import { memberText } from "../../../src/lib/json-text.ts";
import { claimResponse } from "../../../src/protocol/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { completion, newVendora } from "../support/vendora.ts";

const { client, model, fleet } = await newVendora();

/** @returns the input as its runner is sent it, and the answer */
async function call(path: string, body: string) {
  const headers = { "content-type": "application/json", "content-length": String(body.length) };
  const answered = client.fetch(path, { method: "POST", headers, body });
  const text = await (await fleet.poll()).text();
  const [job] = fleet.received(claimResponse.parse(JSON.parse(text)).jobs);
  if (!job) throw new Error("the poll was answered without a job");
  const output = JSON.stringify(completion("on"));
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
