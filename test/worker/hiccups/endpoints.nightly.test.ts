/**
 * Every endpoint, while each call of the platform in it fails in turn: the answer is a success, or a 503
 * that says when to ask again, and the next one is the usual answer. Never a 500. Those of runners are in
 * runner-endpoints.test.ts, and those of the registry in registry.test.ts.
 */
import { afterAll, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { askedAgain } from "../support/asked-again.ts";
import { withoutKey } from "../support/backups.ts";
import { callEndpoint, ENDPOINT_ACCESS, OPERATOR_ENDPOINTS } from "../support/endpoint-access.ts";
import { isSpent, placeFor } from "../support/endpoint-places.ts";
import { type Failure, failing } from "../support/hiccups.ts";
import { expectFailures, FAILURES, LONG } from "../support/one-at-a-time.ts";
import { advance } from "../support/time.ts";
import { newWorld, operator } from "../support/world.ts";

expectFailures();
afterAll(withoutKey);

/** What only reads has no effect to be lost. */
const failuresOf = (key: string) => (key.startsWith("GET") ? FAILURES.slice(0, 1) : FAILURES);

/** What a call that is repeated may be answered, because the first has done all or a part: it is gone, or there. */
const REPEATED = [404, 409];
/** It has begun with a 200 then: it breaks off, without its last line. */
const BREAKS_OFF = "GET /v1/user/export";
const BROKEN_OFF = { status: 503, headers: new Headers({ "retry-after": "1" }) };
/** What isolates know is too old after it. */
const CACHED_S = 10;

/** Those that call nothing of the platform, and those of another test. */
const NOT_HERE = [
  // Written when the Worker was built.
  "GET /v1/openapi.json",
  "GET /assets/:file",
  "GET /.well-known/security.txt",
  // Only of an empty deployment: test/worker/backups/interruptions.test.ts.
  "PUT /v1/operator/backups/:backup_id/parts/:part_number",
  "POST /v1/operator/backups/:backup_id/restore",
];

/** By method and address: the usual status, and who calls. */
const ROWS = [
  ...Object.entries(ENDPOINT_ACCESS).map(([key, { hidden, ...row }]) => ({
    key,
    ...row,
    status: hidden[2],
    isOperator: false,
  })),
  ...Object.entries(OPERATOR_ENDPOINTS).map(([key, row]) => ({
    key,
    ...row,
    status: 200,
    isOperator: true,
  })),
  { key: "GET /avatars/:user_id/:hash", status: 200, isOperator: false },
].filter(({ key }) => !NOT_HERE.includes(key));

test("the tables have every endpoint", () => {
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && !/^\/docs|\*/.test(path))
    .map(({ method, path }) => `${method} ${path}`)
    .filter((key) => !/\/v1\/runner\/| \/v2/.test(key));
  const named = [...ROWS.map(({ key }) => key), ...NOT_HERE];
  expect(named.sort()).toEqual([...new Set(routes)].sort());
});

test.each(ROWS)("$key", LONG, async ({ key, isOperator, status: usual, ...row }) => {
  const world = await newWorld({ compatibilities: { vendora_responses: true } });
  const client = isOperator ? operator : world.client;
  const kept = isSpent(key) ? undefined : await placeFor(key, world);
  const platform = failing();
  const ask = async (nth = 0, failure?: Failure) => {
    const place = kept ?? (await placeFor(key, world));
    advance(CACHED_S + 1);
    platform.begin((call) => (call === nth ? failure : undefined));
    const statuses = await askedAgain(() =>
      callEndpoint(client, key, place, row).catch((error) => {
        if (key !== BREAKS_OFF) throw error;
        return BROKEN_OFF;
      }),
    );
    const calls = platform.calls();
    platform.end();
    const mayBeDone = failure?.isDone || key.startsWith("DELETE");
    const expected = mayBeDone ? [usual, ...REPEATED] : [usual];
    const where = `${failure?.message} at ${calls[nth - 1]}, ${nth} of ${calls}: ${statuses}`;
    expect(expected, where).toContain(statuses.at(-1));
    return calls;
  };
  const calls = await ask();
  expect(calls).not.toEqual([]);
  for (let nth = 1; nth <= calls.length; nth++)
    for (const failure of failuresOf(key)) await ask(nth, failure);
});
