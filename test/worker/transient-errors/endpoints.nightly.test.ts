/**
 * Every endpoint, while each of its platform calls fails in turn: the answer is a success or a 503 with
 * retry-after, never a 500, and the next answer is the usual one. Endpoints of runners are in
 * runner-endpoints.nightly.test.ts, and those of the registry in registry.nightly.test.ts.
 */
import { afterAll, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { newToken } from "../../../src/domain/accounts/token.ts";
import { REPLICATE_PATH } from "../../../src/domain/replicate/prediction.ts";
import {
  DEVICE_AUTHORIZATION,
  DEVICE_GRANT,
  OAUTH_TOKEN,
} from "../../../src/protocol/device-login.ts";
import { askedAgain } from "../support/asked-again.ts";
import { withoutKey } from "../support/backups.ts";
import { placeFor, usualStatus } from "../support/called-places.ts";
import { callEndpoint, ENDPOINT_ACCESS, type EndpointCall } from "../support/endpoint-access.ts";
import { type Failure, failing } from "../support/failing.ts";
import { expectFailures, FAILURES, LONG } from "../support/one-at-a-time.ts";
import { OPERATOR_ENDPOINTS } from "../support/operator-endpoints.ts";
import { advance } from "../support/time.ts";
import { newClient, newOperatorUser, newWorld, operator, unique } from "../support/world.ts";

/** Whether a call uses up what it names, or adds to something that an account has a limited number of. */
const isSpent = (key: string) =>
  /^DELETE|^POST .*(?:webhook|organizations|budgets$|examples$|predictions$|responses$|cancel$|complete$)|^PUT .*part_number$/.test(
    key,
  );

expectFailures();
afterAll(withoutKey);

/** Returns the failures to try. A GET has no effect that could be done without an answer. */
const failuresOf = (key: string) => (key.startsWith("GET") ? FAILURES.slice(0, 1) : FAILURES);

/** The statuses of a repeated call whose first call has had its effect: it is gone, or exists. */
const REPEATED = [404, 409];
/** The endpoints that break off after their 200 instead of answering with a 503. */
const BREAKS_OFF = /\/export$/;
const BROKEN_OFF = { status: 503, headers: new Headers({ "retry-after": "1" }) };
/** The seconds after which caches of isolates have expired. */
const CACHED_S = 10;

/** The endpoint that only a token with the scope `metrics` may call. */
const METRICS = "GET /metrics";

/** Endpoints that make no platform calls, or have another test. */
const NOT_HERE = [
  // The build of the Worker writes the following two files.
  "GET /v1/openapi.json",
  "GET /assets/:file",
  "GET /.well-known/security.txt",
  "GET /pictures",
  // Restores need an empty deployment: test/worker/backups/interruptions.nightly.test.ts.
  "PUT /v1/operator/backups/:backup_id/parts/:part_number",
  "POST /v1/operator/backups/:backup_id/restore",
];

/** The client does not wait: no runner takes its run. */
const RUNNING = { headers: { prefer: "wait=0" }, status: 201 };

/** The endpoints of the Replicate convention below its base path, with their usual status. */
const REPLICATE: Record<string, Omit<EndpointCall, "query"> & { status?: number }> = {
  "GET /account": {},
  "GET /hardware": {},
  "GET /webhooks/default/secret": {},
  "POST /files": { body: newForm, status: 201 },
  "GET /files": {},
  "GET /files/:id": {},
  "GET /files/:id/download": {},
  "DELETE /files/:id": { status: 204 },
  "GET /models": {},
  "QUERY /models": { body: () => ({}) },
  "GET /search": {},
  "POST /models": {
    body: ({ owner }) => ({ owner, name: unique("made"), visibility: "private", hardware: "cpu" }),
    status: 201,
  },
  "GET /models/:owner/:name": {},
  "PATCH /models/:owner/:name": { body: () => ({ description: "A story" }) },
  "DELETE /models/:owner/:name": { status: 204 },
  "GET /models/:owner/:name/readme": {},
  "GET /models/:owner/:name/examples": {},
  "GET /models/:owner/:name/versions": {},
  "GET /models/:owner/:name/versions/:version": {},
  "DELETE /models/:owner/:name/versions/:version": { status: 204 },
  "GET /collections": {},
  "GET /collections/:slug": {},
  "POST /predictions": { ...RUNNING, body: ({ version }) => ({ version, input: {} }) },
  "POST /models/:model_owner/:model_name/predictions": { ...RUNNING, body: () => ({ input: {} }) },
  "POST /deployments/:deployment_owner/:deployment_name/predictions": {
    ...RUNNING,
    body: () => ({ input: {} }),
  },
  "POST /deployments": {
    body: ({ owner, name, version }) => ({
      ...{ name: unique("made"), model: `${owner}/${name}`, version },
      ...{ min_instances: 0, max_instances: 1 },
    }),
    status: 201,
  },
  "GET /deployments": {},
  "GET /deployments/:deployment_owner/:deployment_name": {},
  "PATCH /deployments/:deployment_owner/:deployment_name": {
    body: () => ({ max_instances: 2 }),
  },
  "DELETE /deployments/:deployment_owner/:deployment_name": { status: 204 },
  "GET /predictions": {},
  "GET /predictions/:prediction_id": {},
  "POST /predictions/:prediction_id/cancel": {},
  "GET /streams/:prediction_id": {},
};

function newForm(): FormData {
  const form = new FormData();
  form.append("content", new Blob(["hello"], { type: "text/plain" }), "hello.txt");
  return form;
}

/** The requests of `auspex login`. The code is unknown. */
const LOGINS: (EndpointCall & { key: string; status: number })[] = [
  {
    key: `POST ${DEVICE_AUTHORIZATION}`,
    status: 200,
    body: () => new URLSearchParams({ client_id: "auspex", device_name: "laptop" }),
  },
  {
    key: `POST ${OAUTH_TOKEN}`,
    status: 400,
    body: () =>
      new URLSearchParams({
        grant_type: DEVICE_GRANT,
        client_id: "auspex",
        device_code: newToken("ausd"),
      }),
  },
];

/** The usual status and the caller, by method and address. */
const ROWS = [
  ...Object.entries(ENDPOINT_ACCESS).map(([key, row]) => ({
    key,
    ...row,
    status: usualStatus(key, row),
    isOperator: false,
  })),
  ...Object.entries(REPLICATE).map(([key, row]) => ({
    key: key.replace(" ", ` ${REPLICATE_PATH}`),
    status: 200,
    ...row,
    isOperator: false,
  })),
  ...Object.entries(OPERATOR_ENDPOINTS).map(([key, row]) => ({
    key,
    ...row,
    status: 200,
    isOperator: true,
  })),
  { key: "GET /avatars/:user_id/:hash", status: 200, isOperator: false },
  { key: "GET /health", status: 200, isOperator: false },
  { key: METRICS, status: 200, isOperator: false },
  ...LOGINS.map((row) => ({ ...row, isOperator: false })),
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
    const collector = async () =>
      newClient((await newOperatorUser()).username, { scopes: ["metrics"] });
    const own = key === METRICS ? await collector() : world.client;
    const client = isOperator ? operator : own;
    const kept = isSpent(key) ? undefined : await placeFor(key, world);
    const platform = failing();
    const ask = async (nth = 0, failure?: Failure) => {
      const place = kept ?? (await placeFor(key, world));
      advance(CACHED_S + 1);
      platform.begin((call) => (call === nth ? failure : undefined));
      const statuses = await askedAgain(() =>
        callEndpoint(client, key, place, row).catch((error) => {
          if (!BREAKS_OFF.test(key)) throw error;
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
