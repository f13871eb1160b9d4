/** Webhooks, exports, replays, shares, examples and pages of a prediction have its digits. */
import { expect, test } from "vitest";
import { memberText } from "../../../src/lib/json-text.ts";
import { claimResponse } from "../../../src/protocol/runner.ts";
import { ORIGIN } from "../support/client.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { newRunnable } from "../support/examples.ts";
import { exported } from "../support/export.ts";
import { textOf } from "../support/page-text.ts";
import { addressOf, exchanged, freshPath } from "../support/receiver.ts";
import type { FakeRunner } from "../support/runner.ts";
import { Visitor } from "../support/visitor.ts";

const VALUE = '{"2":18446744073709551615,"1":[1.0,1e-7,-0,9007199254740993]}';
const NUMBERS = ["18446744073709551615", "1.0", "1e-7", "-0", "9007199254740993"];
const JSON_TYPE = { "content-type": "application/json" };

/** A prediction of a new model that has ended with VALUE as its input and output. */
async function ran(headers: Record<string, string> = {}) {
  const person = await newDashboardUser();
  const { reference, runner, path } = await newRunnable(person, { visibility: "public" });
  const { client, visitor } = person;
  const receiver = freshPath();
  const webhook = `{"url":"${addressOf(receiver)}","events":["completed"]}`;
  const body = `{"model":"${reference}","input":${VALUE},"webhook":${webhook}}`;
  const init = { method: "POST", headers: { ...JSON_TYPE, ...headers }, body };
  const create = async () => (await client.fetch("/v1/predictions", init)).text();
  const id = idIn(await create());
  await finish(runner);
  return { client, visitor, create, id, receiver, path };
}

const idIn = (text: string): string => JSON.parse(memberText(text, "id") ?? "");

/** @returns the input as the runner was sent it */
async function finish(runner: FakeRunner): Promise<string | undefined> {
  const text = await (await runner.poll()).text();
  const [job] = runner.received(claimResponse.parse(JSON.parse(text)).jobs);
  if (!job) throw new Error("the poll was answered without a job");
  const events = `[{"event":"output","data":${VALUE}}]`;
  const end = '{"status":"succeeded","output":"items","execution_seconds":1.5}';
  const frame = `{"type":"events","seq":1,"events":${events},"finish":${end}}`;
  await (await runner.connect(job)).exchange(frame);
  return memberText((memberText(text, "jobs") ?? "").slice(1, -1), "input");
}

test("webhooks, exports and the replay of a create keep digits and the order of names", async () => {
  const { client, create, receiver } = await ran({ "idempotency-key": "exact" });
  const [delivery] = await exchanged(receiver, 1);
  const replayed = await create();
  expect(await create()).toBe(replayed);
  for (const text of [delivery?.body ?? "", replayed]) {
    expect(memberText(text, "input")).toBe(VALUE);
    expect(memberText(text, "output")).toBe(`[${VALUE}]`);
  }
  expect(await exported(client)).toContain(`"input":${VALUE},"output":[${VALUE}]`);
});

const expectDigits = (html: string) => {
  for (const number of NUMBERS) expect(textOf(html)).toContain(number);
  expect(html).not.toContain("exact-");
};

test("pages and files of a prediction, and its shares, show its digits", async () => {
  const { visitor, id } = await ran();
  const page = `/predictions/${id}`;
  expectDigits((await visitor.look(page)).html);
  expect((await visitor.look(`${page}/output.json`)).html).toBe(`[${VALUE}]`);
  expectDigits((await visitor.look(`${page}/output.txt`)).html);
  await visitor.look(page);
  const { html } = await visitor.send(`${page}/share`, { days: "7" });
  const [address = ""] = /\/shared\/auss_\w+/.exec(html) ?? [];
  expectDigits((await new Visitor().look(address)).html);
});

test("an example has the digits of its run", async () => {
  const { client, visitor, id, path } = await ran();
  await visitor.look(path);
  await visitor.send(`${path}/examples`, { prediction_id: id });
  expectDigits((await visitor.look(`${path}/examples`)).html);
  const text = await (await client.fetch(`/v1${path}/examples`)).text();
  expect(text).toContain(`"input":${VALUE},"output":[${VALUE}]`);
});

test("the playground shows the digits of a run, and sends them", async () => {
  const person = await newDashboardUser();
  const { runner, path } = await newRunnable(person, { visibility: "public" });
  const { visitor } = person;
  await visitor.look(path);
  const sent = await visitor.send(path, { version: "1", input: VALUE });
  expect(sent.status).toBe(303);
  expect(await finish(runner)).toBe(VALUE);
  const { html } = await visitor.look(sent.location ?? "");
  expectDigits(html);
  expect(html).toContain(
    'JSON.rawJSON(<span class="code-string">&quot;18446744073709551615&quot;</span>)',
  );
  const body = `{"version":1,"input":${VALUE}}`;
  const headers = { ...JSON_TYPE, origin: ORIGIN, "x-form-token": visitor.formToken };
  const response = await visitor.fetch(path, { method: "POST", headers, body });
  expect(response.status).toBe(200);
  expect(await finish(runner)).toBe(VALUE);
});
