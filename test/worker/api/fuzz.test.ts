/** Requests made from the document, thousands at night: whatever is sent, every answer is a declared one. */
import fc from "fast-check";
import { afterAll, expect, inject, test } from "vitest";
import { operationsIn } from "../../../src/openapi/document.ts";
import { findSignature } from "../../../src/openapi/parameters.ts";
import type { DocumentedOperation } from "../../../src/openapi/types.ts";
import { prediction } from "../../../src/protocol/prediction.ts";
import { upload } from "../../../src/protocol/upload.ts";
import { userA } from "../../../src/protocol/user.ts";
import { sized } from "../../support/sized.ts";
import { newAlert } from "../support/alerts.ts";
import { backups, makeBackup, withKey, withoutKey } from "../support/backups.ts";
import { VERSION } from "../support/catalogue.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { answersBytes, documentIn, schemasOf } from "../support/document.ts";
import { eventually } from "../support/eventually.ts";
import { newPinnable } from "../support/examples.ts";
import { fileUrl, uploaded } from "../support/files.ts";
import { makeBudgets } from "../support/fuzz/budgets.ts";
import { type Caller, newCallers, tokensOf } from "../support/fuzz/callers.ts";
import { knownFields } from "../support/fuzz/fields.ts";
import { Harvest, type Place } from "../support/fuzz/harvest.ts";
import { laterness, makersOf } from "../support/fuzz/order.ts";
import { makeOrganizations } from "../support/fuzz/organizations.ts";
import { type Plan, plans, validPlans } from "../support/fuzz/plan.ts";
import { sendPrepared } from "../support/fuzz/prepared.ts";
import { restore } from "../support/fuzz/restore.ts";
import { CALL, send } from "../support/fuzz/send.ts";
import type { Sent } from "../support/fuzz/tricks.ts";
import { endAll, LAG_MS, lookAfterRows, waiting } from "../support/fuzz/under-way.ts";
import { type Received, Verdict } from "../support/fuzz/verdict.ts";
import { curl, written } from "../support/fuzz/wire.ts";
import { newUser } from "../support/world.ts";

const SEED = 20_261_120;
const REQUESTS = sized(1_000, 8_000);
const AT_ONCE = 16;

/** Creates outnumber deletions, so that requests find something. */
const WEIGHTS = { get: 4, post: 8, put: 3, patch: 3, delete: 3 };

/** Signed addresses, and runs that can be canceled, exist only after a chain of other requests. */
const LATE_WEIGHT = 16;
const LATE =
  /\/cancel$|\/redeliver$|\/secrets|^(?:get|post) \/vendora\/responses|\/operator\/usernames/;
const isLate = ({ method, path, operation }: DocumentedOperation) =>
  findSignature(operation) !== undefined || LATE.test(`${method} ${path}`);

afterAll(withoutKey);

const document = await documentIn("A");
const operations = operationsIn(document);
const callers = await newCallers();
const harvest = new Harvest();
const verdict = new Verdict(document, tokensOf(callers));

const from = { schemas: schemasOf(document), known: knownFields(harvest, callers.callable) };
const anyPlan = fc.oneof(
  ...operations.map((one) => ({
    weight: isLate(one) ? LATE_WEIGHT : WEIGHTS[one.method],
    arbitrary: plans(one, from, callers),
  })),
);

/** Operations that have not succeeded in the random requests get up to this many further rounds. */
const ROUNDS = 5;

/** The test has no limit for its whole duration; this one only notices that it hangs. */
const HANG_MS = 900_000;

const ask = (sent: Sent) => send(sent, callers.callable);
let sentSoFar = 0;
const faults: string[] = [];
/** Counts of answers by `operation status` and by the status alone. */
const seen = new Map<string, number>();
/** The last refusal of each operation. */
const refusals = new Map<string, string>();

async function run(plan: Plan): Promise<void> {
  const sent = written(plan, harvest);
  const line = `after ${sentSoFar++} others: ${curl(sent, plan.caller)}`;
  const received = await ask(sent).catch((cause: unknown) => {
    const timedOut = cause instanceof DOMException && cause.name === "TimeoutError";
    if (timedOut && CALL.test(sent.url)) return undefined;
    throw new Error(`not answered, ${line}`, { cause });
  });
  if (received) judge(sent, received, line);
  await restore(sent, received, ask);
}

function judge(sent: Sent, received: Received, line: string): void {
  const { status, text } = received;
  for (const fault of verdict.of(sent, received))
    faults.push(`${fault}\n  ${line}\n  ${status} ${text.slice(0, 1_000)}`);
  const name = verdict.operationOf(sent)?.operation.operationId;
  for (const what of [`${name} ${status}`, `${status}`]) seen.set(what, (seen.get(what) ?? 0) + 1);
  if (status >= 400) refusals.set(name ?? "", `${curl(sent, callers.user)} ${text}`);
  learn(sent, received);
}

function learn(sent: Sent, { status, headers, text }: Received): void {
  const one = verdict.operationOf(sent);
  const isGone = status === 404 || (status === 200 && one?.method === "delete");
  if (sent.known && isGone) harvest.forget(sent.known);
  const etag = headers.get("etag") ?? undefined;
  if (!one || status >= 300 || !text) return;
  const isJson = headers.get("content-type") === "application/json" && !answersBytes(one.operation);
  harvest.take(one.path, { url: sent.url, etag }, isJson ? JSON.parse(text) : text, sent.known);
}

/**
 * Runs that have begun and do not end by themselves are made first, because random requests seldom make them.
 */
const MADE_BEFORE = sized(3, 15);
const BEFORE = [
  { path: "/predictions", body: { model: callers.callable, input: { text: "a" } } },
  { path: "/vendora/responses", body: { model: callers.callable, input: "a", background: true } },
  { path: "/vendora/conversations", body: { items: [{ role: "user", content: "a" }] } },
];

async function makeBefore(): Promise<void> {
  const { authorization = "" } = callers.user;
  for (const { path, body } of BEFORE) {
    const sent = {
      method: "POST",
      url: `${ORIGIN}/v1${path}`,
      headers: { authorization, "content-type": "application/json", prefer: "wait=0" },
      body: JSON.stringify(body),
      known: undefined,
    };
    learn(sent, await ask(sent));
  }
}

/** The schedule makes backups, and does not run in this test. */
async function backUp(): Promise<void> {
  withKey();
  await makeBackup(60_000);
  await findBackup();
}

/**
 * The harvest forgets a backup when a request asks for a part that it does not have, so this runs in each
 * round.
 */
async function findBackup(): Promise<void> {
  const [made] = (await backups()).backups;
  harvest.take("/operator/backups", { url: `${ORIGIN}/v1/operator/backups` }, made);
}

/** Sends one request. @returns its answer, if that is a success */
async function make(
  method: string,
  path: string,
  body?: object,
  { by = callers.user, known, prefer }: { by?: Caller; known?: Place; prefer?: string } = {},
) {
  const { authorization = "" } = by;
  const sent = {
    method,
    url: `${ORIGIN}/v1${path}`,
    headers: { authorization, "content-type": "application/json", ...(prefer && { prefer }) },
    body: body && JSON.stringify(body),
    known,
  };
  const received = await ask(sent).catch(() => undefined);
  if (received) judge(sent, received, `made: ${curl(sent, by)}`);
  return received?.status === 200 || received?.status === 202 ? received : undefined;
}

/** Webhook events belong to a create that names a webhook, and are found only where they are listed. */
async function makeWebhooks(): Promise<void> {
  const webhook = { url: "https://example.com/hook", events: ["started", "completed"] };
  const asked = { model: callers.callable, input: "a", webhook };
  const called = await make("POST", "/vendora/embeddings", asked);
  const id = called?.headers.get("auspex-prediction-id");
  // The call fails if too many wait already, or no runner answers in time.
  if (id) await make("GET", `/predictions/${id}/webhooks`);
}

/** Makes a token that can be revoked: the IDs of the callers' own tokens are unknown. */
async function makeToken(model_owner: string): Promise<void> {
  const path = `/operator/users/${model_owner}/tokens`;
  await make("POST", path, { name: `made-${sentSoFar}` }, { by: callers.operator });
}

/** The version chats, so that openai and anthropic find its model. */
const CHATS = { ...VERSION, compatibilities: { vendora_chat_completions: true } };

/**
 * Makes things that take several steps: a model of the user's, a version and a variable of it, and a token.
 */
async function makeOwned(): Promise<void> {
  const hardware = "made-for-models";
  await make("PUT", `/operator/hardware/${hardware}`, { name: hardware }, { by: callers.operator });
  // The user may have another name by now.
  const me = await make("GET", "/user");
  if (!me) return;
  const { username: model_owner } = userA.parse(JSON.parse(me.text));
  const known = { model_owner, model_name: `story-${sentSoFar}` };
  const path = `/models/${model_owner}/${known.model_name}`;
  await make("POST", "/models", { name: known.model_name, hardware_identifier: hardware });
  await make("POST", `${path}/versions`, CHATS, { known });
  await make("PUT", `${path}/variables/KEY`, { value: "a" }, { known });
  const prices = { prices: { per_run: "0.5" } };
  await make("PUT", `${path}/versions/1/prices`, prices, { known });
  const model = `${model_owner}/${known.model_name}`;
  const deployed = `deployed-${sentSoFar}`;
  await make("POST", "/deployments", { name: deployed, model });
  // A release before is what a roll-back needs.
  await make("PATCH", `/deployments/${model_owner}/${deployed}`, { idle_seconds: 60 });
  await makeWholeUpload();
  await makeCollaborator(known);
  await makeToken(model_owner);
  harvest.put({ alert_id: await newAlert() });
  await makeBudgets(make, callers, model_owner, `${path}/versions/1/predictions`);
  await makePinnable();
  await makePredictionOf(model_owner);
  const canceled = await makeWaiting(model);
  const id = canceled && prediction.parse(JSON.parse(canceled.text)).id;
  if (id) await make("POST", `/predictions/${id}/cancel`);
  await makeWaiting(model);
}

/** Makes an upload whose parts have arrived: the address that completes it is kept from its answer. */
async function makeWholeUpload(): Promise<void> {
  const begun = await make("POST", "/uploads", { size: 1, mime_type: "text/plain" });
  const { id, urls: [url = ""] = [] } = begun ? upload.parse(JSON.parse(begun.text)) : { id: "" };
  await ask({ method: "PUT", url, headers: {}, body: "a", known: undefined });
  await make("GET", `/uploads/${id}`);
}

/** Shares a model with a new user: random requests seldom name one who exists beside a model of the caller. */
async function makeCollaborator(model: Place): Promise<void> {
  const { username: account } = await newUser();
  const path = `/models/${model.model_owner}/${model.model_name}/collaborators/${account}`;
  await make("PUT", path, { level: "write" });
  harvest.put({ ...model, account });
}

/**
 * Makes a prediction that can be canceled: no runner has the hardware of such a model, and other runs end
 * within milliseconds.
 */
const makeWaiting = (model: string) =>
  make("POST", "/predictions", { model, input: { text: "a" } }, { prefer: "wait=0" });

/** Lists the items of a new conversation: an item has an address only once a list has named it. */
async function makeItem(): Promise<void> {
  const body = { items: [{ role: "user", content: "a" }] };
  const made = await make("POST", "/vendora/conversations", body);
  const id = made && /"id":"(conv_\w+)"/.exec(made.text)?.[1];
  if (id) await make("GET", `/vendora/conversations/${id}/items`);
}

/** Makes a completed upload: random requests seldom send all parts of one and complete it. */
async function makeFile(): Promise<void> {
  const [token] = tokensOf({ ...callers, others: [] });
  const upload = await uploaded(new Client(token));
  harvest.take("/uploads/{upload_id}", { url: upload.url }, upload);
}

/** Makes a run that has succeeded, of a model of the user's. */
async function makePinnable(): Promise<void> {
  const [token] = tokensOf({ ...callers, others: [] });
  const { owner, name, prediction_id = "" } = await newPinnable({ client: new Client(token) });
  harvest.putRun(`${ORIGIN}/v1/models/${owner}/${name}/examples`, prediction_id);
}

/** Makes a prediction with its username: operators look for it by its owner, which no answer names. */
async function makePredictionOf(username: string): Promise<void> {
  const called = await make("POST", "/vendora/embeddings", { model: callers.callable, input: "a" });
  const prediction_id = called?.headers.get("auspex-prediction-id");
  if (prediction_id) harvest.put({ username, prediction_id });
}

/** Reads a range behind the end of a file, which only some runs do by chance. */
async function readBehindTheEnd(): Promise<void> {
  const [token] = tokensOf({ ...callers, others: [] });
  const url = fileUrl(await uploaded(new Client(token)));
  const headers = { range: "bytes=99999999-" };
  const sent = { method: "GET", url, headers, body: undefined, known: undefined };
  judge(sent, await ask(sent), "before all others: a range behind the end of a file");
}

test(`${REQUESTS} valid, nearly valid and hostile requests get declared answers`, {
  timeout: HANG_MS,
}, async () => {
  // Webhooks come first, while no run waits before them.
  await makeWebhooks();
  for (let made = 0; made < MADE_BEFORE; made++) await makeBefore();
  await readBehindTheEnd();
  // Only a trick sends more than a body may have, and seldom with a request that has one.
  await make("POST", "/models", { name: " ".repeat(10 * 1024 * 1024) });
  await makeRareAnswers();
  await backUp();
  for (let made = 0; made < sized(1, 3); made++) await makePinnable();
  await runAll(fc.sample(anyPlan, { numRuns: REQUESTS, seed: SEED }));
  expect(faults).toEqual([]);
  expect(sentSoFar).toBe(REQUESTS);
});

/** Gets a 304 and a 415, which random requests seldom get. */
async function makeRareAnswers(): Promise<void> {
  const { authorization = "" } = callers.user;
  const read = {
    ...{ method: "GET", url: `${ORIGIN}/v1/model_categories`, headers: { authorization } },
    ...{ body: undefined, known: undefined },
  };
  const etag = (await ask(read)).headers.get("etag") ?? "";
  const again = { ...read, headers: { authorization, "if-none-match": etag } };
  const typed = {
    ...{ ...read, method: "POST", url: `${ORIGIN}/v1/models`, body: "{}" },
    headers: { authorization, "content-type": "text/plain" },
  };
  for (const sent of [again, typed])
    judge(sent, await ask(sent), `made: ${curl(sent, callers.user)}`);
}

async function runAll(plans: Plan[]): Promise<void> {
  const queue = plans.values();
  const worker = async () => {
    for (const plan of queue) await run(plan);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const rightful = ({ operation: { security } }: DocumentedOperation): Caller =>
  security?.some((way) => "operatorToken" in way) ? callers.operator : callers.user;

/** Reads every list that needs no parameter: what exists is forgotten after a stranger's 404. */
async function readLists(): Promise<void> {
  for (const one of operations)
    if (one.method === "get" && !one.path.includes("{"))
      await make("GET", one.path, undefined, { by: rightful(one) });
}

/** Valid requests of an operation until one succeeds. */
const TRIES = 10;

async function succeed(one: DocumentedOperation, seed: number): Promise<void> {
  const id = one.operation.operationId ?? "";
  const before = successes(id);
  const plan = validPlanOf(one);
  // One plan is made at a time, because most first ones succeed.
  for (let tried = 0; tried < TRIES && successes(id) === before; tried++) {
    for (const next of fc.sample(plan, { numRuns: 1, seed: seed * TRIES + tried })) await run(next);
  }
}

const validPlansMade = new Map<DocumentedOperation, fc.Arbitrary<Plan>>();

function validPlanOf(one: DocumentedOperation): fc.Arbitrary<Plan> {
  const made = validPlansMade.get(one);
  const plan = made ?? validPlans(one, { ...from, callable: callers.callable }, rightful(one));
  validPlansMade.set(one, plan);
  return plan;
}

/**
 * Sends valid requests of the operations that have not succeeded, one at a time and after all waiting runs have
 * ended: on a slow machine the runs of other requests fill the queue of the model, and calls would be refused.
 */
async function sendAlone(seed: number): Promise<void> {
  for (const one of withoutSuccess().toSorted((a, b) => laterness(a) - laterness(b))) {
    for (const maker of makersOf(operations, one.path))
      if (maker !== one) await succeed(maker, seed);
    await succeed(one, seed);
  }
}

/** Some operations need an empty deployment, and bytes that cannot be guessed (test/worker/backups). */
const BEYOND_CHANCE = ["putBackupPart", "restoreBackup"];

const successes = (operationId: string): number =>
  [200, 202, 206].reduce((sum, status) => sum + (seen.get(`${operationId} ${status}`) ?? 0), 0);

const withoutSuccess = (): DocumentedOperation[] =>
  operations.filter(
    ({ operation: { operationId = "" } }) =>
      !BEYOND_CHANCE.includes(operationId) && successes(operationId) === 0,
  );

/** Chance reaches every success and refusal only in thousands of requests and in rounds after them: at night. */
if (inject("isNightly")) {
  test("every operation succeeds at least once", {
    timeout: HANG_MS,
  }, async () => {
    for (let round = 1; withoutSuccess().length > 0 && round <= ROUNDS; round++) {
      await endAll(callers);
      // Things that were made at first may be gone, or forgotten after a stranger got a 404 for them.
      await findBackup();
      await makeWebhooks();
      await makeOwned();
      await makeFile();
      await makeBefore();
      await makeItem();
      if (withoutSuccess().some(({ path }) => path.includes("organizations")))
        await makeOrganizations(make, harvest, callers, `made-${sentSoFar}`);
      await readLists();
      await sendPrepared(callers, round, async (sent) => {
        const received = await ask(sent);
        judge(sent, received, `prepared: ${sent.method} ${sent.url}`);
        return received;
      });
      await sendAlone(SEED + round);
    }
    expect(faults).toEqual([]);
    expect(
      withoutSuccess().map(({ operation: { operationId } }) => answersOf(operationId)),
    ).toEqual([]);
  });

  test("requests get every kind of refusal", () => {
    const kinds = [
      "304",
      "400",
      "401",
      "402",
      "403",
      "404",
      "405",
      "409",
      "413",
      "415",
      "416",
      "422",
    ];
    expect(kinds.filter((kind) => !seen.has(kind))).toEqual([]);
  });
}

/** Returns the statuses that an operation has answered so far, how often, and its last refusal. */
const answersOf = (operationId = "") =>
  [
    operationId,
    ...[...seen].filter(([what]) => what.startsWith(`${operationId} `)),
    refusals.get(operationId),
  ].join("; ");

// This test is the last one: runs that go on would disturb the reset before the next file.
test("no request leaves a run that cannot be ended", { timeout: 180_000 }, async () => {
  await callers.stop();
  const began = performance.now();
  await eventually(async () => {
    if (performance.now() - began > LAG_MS) await lookAfterRows();
    await endAll(callers);
    expect(await waiting()).toEqual([]);
  }, 150_000);
});
