/**
 * Every endpoint, while each of its platform calls fails in turn: the answer is a success or a 503 with
 * retry-after, never a 500, and the next answer is the usual one. Endpoints of runners are in
 * runner-endpoints.nightly.test.ts, and those of the registry in registry.nightly.test.ts.
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

/** Returns the failures to try. A GET has no effect that could be done without an answer. */
const failuresOf = (key: string) => (key.startsWith("GET") ? FAILURES.slice(0, 1) : FAILURES);

/** The statuses of a repeated call whose first call has had its effect: it is gone, or exists. */
const REPEATED = [404, 409];
/** The endpoint that breaks off after its 200 instead of answering with a 503. */
const BREAKS_OFF = "GET /v1/user/export";
const BROKEN_OFF = { status: 503, headers: new Headers({ "retry-after": "1" }) };
/** The seconds after which caches of isolates have expired. */
const CACHED_S = 10;

/** Endpoints that make no platform calls, or have another test. */
const NOT_HERE = [
  // The build of the Worker writes the following two files.
  "GET /v1/openapi.json",
  "GET /assets/:file",
  "GET /.well-known/security.txt",
  // Restores need an empty deployment: test/worker/backups/interruptions.nightly.test.ts.
  "PUT /v1/operator/backups/:backup_id/parts/:part_number",
  "POST /v1/operator/backups/:backup_id/restore",
];

/** The usual status and the caller, by method and address. */
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

test.each(ROWS)(
  "$key is answered well although each of its calls fails in turn",
  LONG,
  async ({ key, isOperator, status: usual, ...row }) => {
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
  },
);
