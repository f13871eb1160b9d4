/** Inputs, outputs and events keep their JSON text: the same digits, and names in the same order. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { memberText, oneLineJson } from "../../../src/lib/json-text.ts";
import { claimResponse } from "../../../src/protocol/runner.ts";
import { awkwardJson, spaced } from "../../support/awkward-json.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

const { client, model, runner } = await newWorld();
const one = await runner();

const JSON_TYPE = { "content-type": "application/json" };

const create = (body: string) =>
  client.fetch("/v1/predictions", { method: "POST", headers: JSON_TYPE, body });

/** Returns the next job, and its input as the runner receives it. */
async function claimed() {
  const text = await (await one.poll()).text();
  const [job] = one.received(claimResponse.parse(JSON.parse(text)).jobs);
  if (!job) throw new Error("the poll was answered without a job");
  return { input: memberText((memberText(text, "jobs") ?? "").slice(1, -1), "input"), job };
}

test("an input and its outputs keep their digits and the order of their names", async () => {
  await fc.assert(
    fc.asyncProperty(awkwardJson, awkwardJson, spaced, async (value, output, space) => {
      const input = `{"2":${value},"1":[${value}]}`;
      const body = space(`{"model":"${model}","input":${input}}`);
      const created = await (await create(body)).text();
      const sent = oneLineJson(input);
      expect(memberText(created, "input")).toBe(sent);
      const { input: received, job } = await claimed();
      expect(received).toBe(sent);
      const path = `/v1/predictions/${JSON.parse(memberText(created, "id") ?? "")}`;
      const made = oneLineJson(output);
      const events = `[{"event":"output","data":${output}},{"event":"output","data":${made}}]`;
      const finish = '{"status":"succeeded","output":"items"}';
      const frame = `{"type":"events","seq":1,"events":${events},"finish":${finish}}`;
      const reply = await (await one.connect(job)).exchange(frame);
      expect(reply.type).toBe("ack");
      const whole = await (await client.fetch(path)).text();
      expect(memberText(whole, "input")).toBe(sent);
      expect(memberText(whole, "output")).toBe(`[${made},${made}]`);
      const stream = await (await client.fetch(`${path}/stream`)).text();
      expect(stream).toContain(`event: output\ndata: ${made}\n\n`);
      expect(stream).not.toMatch(/[\u0085\u2028\u2029]/);
    }),
    { numRuns: 20 },
  );
});

test("a create whose token is in no cache keeps the digits of its input", async () => {
  const world = await newWorld();
  const input = '{"seed":18446744073709551615,"t":1.0,"2":1,"1":2}';
  const body = `{"model":"${world.model}","input":${input}}`;
  // The Worker looks up the model with the token, so it reads the body before it knows the sender.
  const headers = { ...JSON_TYPE, "content-length": String(body.length) };
  stopClock();
  advance(11);
  const created = await world.client.fetch("/v1/predictions", { method: "POST", headers, body });
  startClock();
  expect(memberText(await created.text(), "input")).toBe(input);
});

test("the output of a run that was reported in one frame is stored as it was written", async () => {
  const output = '{"b":18446744073709551615,"1":[1.0,-0,1e400],"a\\u2028":"\u2029"}';
  const { id } = (await client.create({ model, input: {} })).body;
  const { lease } = await one.take();
  const finish = '{"status":"succeeded","output":"value"}';
  const events = `[{"event":"output","data":${output}}]`;
  await one.report(lease, `{"type":"events","seq":1,"events":${events},"finish":${finish}}`);
  const whole = await (await client.fetch(`/v1/predictions/${id}`)).text();
  expect(memberText(whole, "output")).toBe(oneLineJson(output));
});

test("a number that no double can hold is a 422 that says where it is", async () => {
  const response = await create(`{"model":"${model}","input":{"a":[1,-1e400]}}`);
  expect(response.status).toBe(422);
  expect(await response.json()).toEqual({
    detail: [
      {
        type: "finite_number",
        loc: ["body", "input", "a", "1"],
        msg: "Input should be a finite number: 1.7976931348623157e+308 at most",
      },
    ],
  });
});
