/** Tests that a calm history keeps each promise, and that each breach is noticed. */
import { expect, test } from "vitest";
import { type History, LEFTOVERS } from "../history.ts";
import { checkAll } from "./all.ts";
import {
  at,
  brokenIn,
  CANCELED,
  CHAT,
  calmHistory,
  DEVELOPER,
  ENDPOINT,
  edit,
  GREETING,
  LISTS,
  look,
  objectOf,
  PICTURE,
  PICTURES,
  READERS,
  REMOVED,
  RESPONSE,
  readingOf,
  relog,
  STREAM,
} from "./sample.ts";

test("a calm history keeps all promises, and each is checked on something", () => {
  const checked = checkAll(calmHistory(), PICTURES);
  expect(checked.flatMap(({ breaches }) => breaches)).toEqual([]);
  expect(checked.filter(({ checked }) => checked === 0)).toEqual([]);
});

const ENDS = "each accepted id is found, and has ended";
const ROWS = "each listed prediction has ended, also where nobody got its id";
const CHANGES = "an end that was seen never changed";
const SIDES = "list, prediction, export and log say the same";
const KEYS = "all answers under one key name one prediction";
const TWICE = "no create has made more predictions than it was sent, and under a key one";
const OUTPUTS = "what succeeded has the output that was asked for";
const CHATS = "a chat or response that was heard to its end was heard whole";
const CANCELS = "what was cancelled is canceled, unless it had ended";
const WAITS = "what is waited for with `cancel` ends soon after the wait";
const UNASKED = "nothing is canceled that nobody cancelled";
const VERIFY = "each webhook that came verifies";
const TOLD = "each end that a webhook was to tell was told, as it is";
const TURNS = "each receiver is told one event at a time, in their order";
const OWN = "lists show each caller what the role allows, and nothing else";
const ACCESS = "streams end 10 s after the access of their reader, plus what the storm held up";
const STAYS = "what a removed member has run stays in the organization's list, and has ended";
const MEMBERS = "the same key of two members names two predictions";
const LIMITS = "what is spent and reserved never exceeds a hard limit";
const MONEY = "budget, usage and predictions say the same cost, and nothing stays reserved";
const ORDERLY = "no answer was of a kind that nobody should get";

/** Ends a prediction this long after its creation, ms. */
function endAfter(history: History, n: number, ms: number): void {
  const object = objectOf(history, n);
  object.updated_at = new Date(Date.parse(object.created_at) + ms).toISOString();
}

/** Returns the attempts at the endpoint of the first prediction's first event. */
const attemptsAtEndpoint = (history: History) => {
  const { webhooks } = at(history.ends, GREETING);
  const all = webhooks.flatMap(({ deliveries }) => deliveries);
  return all.find(({ endpoint_id }) => endpoint_id === ENDPOINT)?.attempts ?? [];
};

test.each<[string, string, (history: History) => void]>([
  [ENDS, "is not found", (history) => edit(history, GREETING, { object: null })],
  [ENDS, "is not found", (history) => history.ends.splice(GREETING, 1)],
  [
    ENDS,
    "never began",
    (history) => Object.assign(objectOf(history, GREETING), { data_removed: true }),
  ],
  [
    ENDS,
    "still started",
    (history) => Object.assign(objectOf(history, GREETING), { status: "started" }),
  ],
  [
    ROWS,
    "the list still says pending",
    (history) => {
      const { row } = at(history.ends, GREETING);
      if (row) row.status = "pending";
    },
  ],
  [
    CHANGES,
    "in 2 ways",
    (history) => Object.assign(at(history.sightings, 1), { body: "something else" }),
  ],
  [
    CHANGES,
    "in 2 ways",
    (history) =>
      Object.assign(at(history.sightings, 1), { status: "failed" as const, body: "failed" }),
  ],
  [
    CHANGES,
    "it was succeeded, and then started (get)",
    (history) => Object.assign(at(history.sightings, 2), { status: "started" as const }),
  ],
  [
    CHANGES,
    "it was succeeded, and then started (list)",
    (history) => Object.assign(at(history.sightings, 5), { status: "started" as const }),
  ],
  [
    CHANGES,
    "it was succeeded, and then failed (list)",
    (history) => Object.assign(at(history.sightings, 5), { status: "failed" as const }),
  ],
  [
    LISTS,
    "the list said started, 5001 ms after it was succeeded",
    (history) => look(history, "started", 5_001),
  ],
  [
    LISTS,
    "the list said pending, 5001 ms after it was started",
    (history) => {
      Object.assign(at(history.sightings, 1), { status: "started" as const });
      look(history, "pending", 5_001 + 30);
    },
  ],
  [
    LISTS,
    "a list did not have it 59999 ms after it was accepted",
    (history) => {
      at(at(history.calls, GREETING).accepted, 0).at++;
      at(history.looks, 0).ids.shift();
    },
  ],
  [SIDES, "the list has null", (history) => edit(history, GREETING, { row: null })],
  [
    SIDES,
    "the list has",
    (history) => Object.assign(at(history.ends, GREETING).row ?? {}, { setup_time: "1.000" }),
  ],
  [SIDES, "the export has null", (history) => edit(history, GREETING, { exported: null })],
  [
    SIDES,
    "the export has",
    (history) =>
      edit(history, GREETING, { exported: { ...objectOf(history, GREETING), output: 1 } }),
  ],
  [SIDES, "its log ends with", (history) => relog(history, GREETING, (log) => log.slice(0, -1))],
  [
    SIDES,
    "the ids of its log",
    (history) => relog(history, GREETING, (log) => log.map((one) => ({ ...one, id: one.id + 1 }))),
  ],
  [
    SIDES,
    "its log has 1 gaps: the control plane died 0 times, and it could be idle 0 times",
    (history) =>
      relog(history, GREETING, (log) =>
        log.map((one) => (one.id > 2 ? { ...one, id: 99 + one.id } : one)),
      ),
  ],
  [
    SIDES,
    "and its log says",
    (history) =>
      relog(history, GREETING, ([first, ...rest]) => [
        ...(first ? [{ ...first, data: { status: "failed" } }] : []),
        ...rest,
      ]),
  ],
  [
    SIDES,
    "`done` is not the end",
    (history) => relog(history, GREETING, (log) => [...log, { ...at(log, -1), id: 99 }]),
  ],
  [
    KEYS,
    "under its key are",
    (history) => at(history.calls, GREETING).accepted.push({ id: "another", at: 0 }),
  ],
  [
    TWICE,
    "sent 2 times, it has made",
    (history) => history.ends.push({ ...at(history.ends, GREETING), id: "another" }),
  ],
  [
    READERS,
    "ids did not rise",
    (history) => readingOf(history, STREAM).events.push(at(readingOf(history, STREAM).events, -1)),
  ],
  [READERS, "ids did not rise", (history) => readingOf(history, STREAM).events.reverse()],
  [READERS, "it missed", (history) => readingOf(history, STREAM).events.splice(2, 1)],
  [
    READERS,
    "the log now says",
    (history) =>
      readingOf(history, STREAM).events.splice(2, 1, { id: 3, event: "output", data: "A" }),
  ],
  [
    READERS,
    "it saw what is not in the log",
    (history) => readingOf(history, STREAM).events.push({ id: 99, event: "output", data: "A" }),
  ],
  [
    READERS,
    "it never came to the end",
    (history) => Object.assign(readingOf(history, STREAM), { complete: false }),
  ],
  [
    READERS,
    "it was refused after 1",
    (history) => Object.assign(at(readingOf(history, STREAM).connections, 1), { ended: "refused" }),
  ],
  [
    READERS,
    "connection 0 ended without an end",
    (history) => Object.assign(at(readingOf(history, STREAM).connections, 0), { ended: "end" }),
  ],
  [READERS, "it missed", (history) => readingOf(history, RESPONSE + 1).events.splice(1, 1)],
  [
    READERS,
    "the log now says",
    (history) =>
      readingOf(history, RESPONSE + 1).events.splice(1, 1, {
        id: 1,
        event: "response.output_text.delta",
        data: { delta: "other" },
      }),
  ],
  [
    OUTPUTS,
    "not Hello",
    (history) => Object.assign(objectOf(history, GREETING), { output: "Hello, storm-1-!" }),
  ],
  [
    OUTPUTS,
    "and its log has",
    (history) => Object.assign(objectOf(history, STREAM), { output: ["The"] }),
  ],
  [
    OUTPUTS,
    "another of its seed",
    (history) => {
      const { call } = at(history.calls, CHAT);
      Object.assign(call, { work: { kind: "stream", tokens: 1, every: 0, text: 0 } });
    },
  ],
  [OUTPUTS, "its picture is 404", (history) => edit(history, PICTURE, { picture: "404" })],
  [CHATS, "it heard", (history) => Object.assign(at(history.calls, CHAT), { heard: "storm-2-0 " })],
  [
    CHATS,
    "heard whole, and is canceled",
    (history) => Object.assign(objectOf(history, CHAT), { status: "canceled" }),
  ],
  [
    CANCELS,
    "its cancel was accepted, and it is succeeded",
    (history) => Object.assign(objectOf(history, CANCELED), { status: "succeeded" }),
  ],
  [
    CANCELS,
    "it could not be cancelled, for it had ended, and is started",
    (history) => {
      at(at(history.calls, CANCELED).cancels, 0).status = 409;
      Object.assign(objectOf(history, CANCELED), { status: "started" });
    },
  ],
  [
    CANCELS,
    "answered with 404",
    (history) => Object.assign(at(at(history.calls, CANCELED).cancels, 0), { status: 404 }),
  ],
  [
    WAITS,
    "a wait of 5000 ms was to cancel it, and it is canceled after 18001",
    (history) => endAfter(history, CANCELED, 18_001),
  ],
  [
    WAITS,
    "a wait of 5000 ms was to cancel it, and it is succeeded after 10001",
    (history) => {
      Object.assign(objectOf(history, CANCELED), { status: "succeeded" });
      endAfter(history, CANCELED, 10_001);
    },
  ],
  [
    UNASKED,
    "it is canceled",
    (history) => Object.assign(objectOf(history, GREETING), { status: "canceled" }),
  ],
  [
    VERIFY,
    "no match",
    (history) => Object.assign(at(history.deliveries, 0), { verified: "no match" }),
  ],
  [TOLD, "completed was never told", (history) => history.deliveries.splice(0)],
  [
    TOLD,
    "at an endpoint: started was never told",
    (history) => {
      history.deliveries = history.deliveries.filter(
        ({ endpoint_id, payload }) => !endpoint_id || payload.webhook.event !== "started",
      );
    },
  ],
  [
    TOLD,
    "at an endpoint: completed was never told",
    (history) => {
      history.deliveries = history.deliveries.filter(({ endpoint_id }) => !endpoint_id);
    },
  ],
  [
    TURNS,
    "at an endpoint: completed was told before what came before it",
    (history) => Object.assign(at(attemptsAtEndpoint(history), 0), { at: "2026-11-25T10:00:00Z" }),
  ],
  [
    TURNS,
    "at an endpoint: started was told beside another",
    (history) => Object.assign(at(attemptsAtEndpoint(history), 0), { duration_ms: 1_000 }),
  ],
  [
    TOLD,
    "it was told",
    (history) => {
      for (const { payload } of history.deliveries) payload.output = "Hello, nobody!";
    },
  ],
  [
    TOLD,
    "was told in several ways",
    (history) => Object.assign(at(history.deliveries, 1).payload, { input: "another" }),
  ],
  [
    TOLD,
    "after its end it was told",
    (history) => {
      const { payload, ...rest } = at(history.deliveries, 0);
      const webhook = { ...payload.webhook, id: "late", event: "output" as const, sequence: 9 };
      history.deliveries.push({ ...rest, payload: { ...payload, webhook } });
    },
  ],
  [
    TOLD,
    "not delivered",
    (history) => {
      const delivery = { endpoint_id: null, url: null, next_attempt_at: null, attempts: [] };
      const event = { id: "evt", event: "completed" as const, sequence: 5, created_at: "" };
      const deliveries = [{ ...delivery, state: "pending" as const }];
      edit(history, GREETING, { webhooks: [{ ...event, deliveries }] });
    },
  ],
  [
    OWN,
    "the list of bob@acme has what cyd@acme made",
    ({ changes }) => changes.push({ what: "demotion", doneAt: 0 }),
  ],
  [OWN, "the list of bob@acme lacks", ({ lists }) => at(lists, 2).ids?.pop()],
  [OWN, "the list of ada has", ({ lists, ends }) => at(lists, 0).ids?.push(at(ends, REMOVED).id)],
  [OWN, "cyd@acme was removed, and", ({ lists }) => Object.assign(at(lists, 1), { ids: [] })],
  [
    ACCESS,
    "cyd@acme got an event 13001 ms after the removal",
    (history) => {
      const doneAt = at(history.changes, 0).doneAt ?? 0;
      at(readingOf(history, REMOVED + 1).connections, 1).lastAt = doneAt + 13_001;
    },
  ],
  [STAYS, "lists it as nothing", (history) => edit(history, REMOVED, { row: null })],
  [
    MEMBERS,
    "two members have got it",
    ({ calls }) => {
      at(calls, DEVELOPER).accepted = at(calls, REMOVED).accepted;
    },
  ],
  [
    LIMITS,
    "acme has spent 5 and reserved 6 of 10",
    ({ budgetLooks }) => Object.assign(at(budgetLooks, 0), { spent: 5 }),
  ],
  [
    MONEY,
    "its usage is 4, its runs cost 5",
    ({ money }) => Object.assign(at(money, 0), { cost: 5 }),
  ],
  [MONEY, "1 of acme stays reserved", ({ money }) => Object.assign(at(money, 0), { reserved: 1 })],
  [
    ORDERLY,
    "GET /: 500",
    (history) => history.oddities.push({ what: "GET /", answer: "500", at: 0 }),
  ],
])("a breach of '%s' is noticed: %s", (name, what, breakIt) => {
  const history = calmHistory();
  breakIt(history);
  const broken = brokenIn(history).filter((one) => one.name === name);
  expect(broken.map((one) => one.what)).toContainEqual(expect.stringContaining(what));
});

test.each(LEFTOVERS.map((what, n) => [what, n] as const))(
  "a %s that is left is noticed",
  (what, n) => {
    const history = calmHistory();
    at(history.leftovers, n).found.push("there");
    const broken = brokenIn(history);
    expect(broken).toEqual([{ name: `no ${what} is left`, what: "there", id: undefined }]);
  },
);
