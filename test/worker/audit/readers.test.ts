/** Readers of an audit log: for how long and how often they read it, and what they learn of operators. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AuditEvent } from "../../../src/protocol/audit.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { run } from "../support/accounts.ts";
import { entriesOf } from "../support/audit.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { ask, askUntilRefused, expectRefusal, LIMITS, newAddress } from "../support/limited.ts";
import { createUser, newOperatorUser, newUser, operator } from "../support/world.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Reads the first line of an export, lets its reader's access end, and returns the last line. */
async function lastLine({ body }: Response, end: () => Promise<unknown>) {
  const reader = body?.getReader() ?? expect.fail("no body");
  let text = new TextDecoder().decode((await reader.read()).value);
  await end();
  await vi.advanceTimersByTimeAsync(10_000);
  for (let next = await reader.read(); !next.done; next = await reader.read())
    text += new TextDecoder().decode(next.value);
  return JSON.parse(text.trim().split("\n").at(-1) ?? "");
}

const demote = (username: string) => () =>
  run("UPDATE users SET operator_since = NULL WHERE username = ?", username);

const problem = { type: "problem", problem: { status: 403 } };

test("an export of the deployment's log ends once its operator is demoted", async () => {
  const { client, username } = await newOperatorUser();
  await createUser();
  await createUser();
  const response = await client.fetch("/v1/operator/audit_events/export");
  expect(await lastLine(response, demote(username))).toMatchObject(problem);
});

test("an export of the deployment's log in the dashboard ends once its operator is demoted", async () => {
  const { visitor, username } = await newOperator();
  await createUser();
  await createUser();
  const response = await visitor.fetch("/audit/export", { method: "GET" });
  expect(await lastLine(response, demote(username))).toMatchObject(problem);
});

test("exports of a log count as changes of the account, since each is recorded", async () => {
  const { client } = await newUser();
  const response = await askUntilRefused(LIMITS.writes, () =>
    ask("/v1/audit_events/export", newAddress(), client.token),
  );
  await expectRefusal(response, "changes by this account");
});

test("the address of a holder of OPERATOR_TOKEN is in the deployment's log alone", async () => {
  const { client, username } = await newUser();
  const headers = { "cf-connecting-ip": "203.0.113.9", "content-type": "application/json" };
  const body = JSON.stringify({ name: "laptop" });
  const path = `/v1/operator/users/${username}/tokens`;
  await operator.fetch(path, { method: "POST", headers, body });
  const [created] = await entriesOf(client, "?action=token.created&target=laptop");
  expect(created?.context).toEqual({ request_id: expect.any(String) });
  const { items } = await operator.ok<Page<AuditEvent>>(
    "GET",
    "/v1/operator/audit_events?action=operator_token.used&page_size=20",
  );
  const used = items.find(({ context }) => context.request_id === created?.context.request_id);
  expect(used?.context).toMatchObject({ ip: "203.0.113.9" });
});
