/** Access to each page and action of the dashboard. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../../src/app.ts";
import { ORGANIZATION } from "../../../src/dashboard/addresses.ts";
import { createDashboard } from "../../../src/dashboard/app.tsx";
import { hasRole } from "../../../src/domain/accounts/access.ts";
import { ROLES } from "../../../src/protocol/organization.ts";
import { getServices } from "../../../src/services/services.ts";
import { getAuth } from "../../../src/services/sign-in/auth-loader.ts";
import { NOT_PAGES, PAGES } from "../../browser/support/pages.ts";
import { sized } from "../../support/sized.ts";
import { newModel } from "../support/catalogue.ts";
import { Client, ORIGIN } from "../support/client.ts";
import type { DashboardRoute } from "../support/dashboard-route.ts";
import {
  DASHBOARD_ROUTES,
  MEMBER_ROUTES,
  ORGANIZATION_ROUTES,
} from "../support/dashboard-routes.ts";
import {
  copyVisitor,
  type DashboardOrganization,
  type DashboardUser,
  type EndedSessions,
  newDashboardOrganization,
  newDashboardUser,
  newEndedSessions,
  newOperator,
} from "../support/dashboard-users.ts";
import { callEndpoint, ENDPOINT_ACCESS } from "../support/endpoint-access.ts";
import { eventually } from "../support/eventually.ts";
import { OPERATOR_ENDPOINTS } from "../support/operator-endpoints.ts";
import type { RouteParameters } from "../support/route-parameters.ts";
import { everything, watchTables } from "../support/state.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { Visitor } from "../support/visitor.ts";

/** A password check is slow on purpose. */
const LONG = 60_000;

/** Handlers that run before pages, and better-auth's own addresses, which a later test checks. */
const NO_PAGES = ["/*", "/auth/*", "/uploads/*", `${ORGANIZATION}/uploads/*`];

it("the tables of routes, and of pages that a browser opens, name every page and action", () => {
  const { routes } = createDashboard(app);
  const pages = routes.filter(({ method }) => method !== "ALL");
  const others = routes.filter(({ method }) => method === "ALL").map(({ path }) => path);
  const named = pages.map(({ method, path }) => `${method} ${path}`);
  const ofOrganizations = ORGANIZATION_ROUTES.map(([key]) => key);
  const listed = [...Object.keys(DASHBOARD_ROUTES), ...ofOrganizations];
  expect(listed.toSorted()).toEqual([...new Set(named)].toSorted());
  expect(NO_PAGES).toEqual(expect.arrayContaining(others));
  const shown = routes.filter(({ method }) => method === "GET").map(({ path }) => path);
  // A browser opens some of the pages that an organization has like every account.
  const opened = new Set([...Object.keys(PAGES), ...NOT_PAGES]);
  const optional = ofOrganizations.map((key) => key.replace("GET ", ""));
  expect([...opened].filter((path) => !shown.includes(path))).toEqual([]);
  expect(shown.filter((path) => !opened.has(path) && !optional.includes(path))).toEqual([]);
});

interface Somebody {
  person: DashboardUser;
  stale: EndedSessions;
}

const withStale = async (person: DashboardUser): Promise<Somebody> => ({
  person,
  stale: await newEndedSessions(person),
});

let owner: Somebody;
let operator: Somebody;
let stranger: DashboardUser;
let organization: DashboardOrganization | undefined;

beforeAll(async () => {
  await watchTables();
  owner = await withStale(await newDashboardUser());
  operator = await withStale(await newOperator());
  stranger = await newDashboardUser();
}, LONG);

/** A user from the audience of a route: a new one if the route ends their session or account. */
async function rightful({ audience, endsSession }: DashboardRoute): Promise<Somebody> {
  if (endsSession) return withStale(await newDashboardUser());
  return audience === "operators" ? operator : owner;
}

/** The places of a person's pages, by the function that makes them. */
const placesOfPages = new Map<
  DashboardUser,
  Map<DashboardRoute["parameters"], Promise<RouteParameters>>
>();

/** Makes what a path names. The pages of a person show the same things, since a page changes nothing. */
async function placeOf(
  make: DashboardRoute["parameters"],
  person: DashboardUser,
  isPage: boolean,
): Promise<RouteParameters> {
  if (!make) return {};
  if (!isPage) return make(person);
  const theirs = placesOfPages.get(person) ?? new Map();
  const place = theirs.get(make) ?? make(person);
  placesOfPages.set(person, theirs.set(make, place));
  return place;
}

interface Answer {
  status: number;
  location: string | undefined;
  html: string;
}

type Asking = (visitor: Visitor, headers?: Record<string, string>) => Promise<Answer>;

/** Requests a route as different users. */
function askingFor(
  key: string,
  { form, json }: DashboardRoute,
  place: RouteParameters,
  person: DashboardUser,
): Asking {
  const [method = "", template = ""] = key.split(" ");
  const path = template.replace(/:(\w+)({.*?}(?=\/|$))?/g, (_, name: string) => {
    return place[name] ?? expect.fail(`no ${name}`);
  });
  return (visitor, headers = {}) => {
    if (method === "GET") return visitor.look(path, headers);
    if (!json) return visitor.send(path, form?.(place, person) ?? {}, headers);
    const type = { accept: "application/json", "content-type": "application/json" };
    const own = { origin: ORIGIN, "x-form-token": visitor.formToken };
    const body = JSON.stringify(json(place));
    return visitor.request(path, { method, body, headers: { ...type, ...own, ...headers } });
  };
}

/** Moves the clock for a request, because an id younger than 10 s that is not found is looked up for 0.7 s. */
async function elevenSecondsLater<T>(request: () => Promise<T>): Promise<T> {
  stopClock();
  advance(11);
  try {
    return await request();
  } finally {
    startClock();
  }
}

type Attempt = [how: string, visitor: Visitor, headers?: Record<string, string>];

/** Requests without a valid session. */
const nobodies = async ({ person, stale }: Somebody): Promise<Attempt[]> => [
  ["nobody", new Visitor()],
  ["logged out", copyVisitor(stale.signedOut)],
  ["expired", await stale.expired()],
  ["an access token", new Visitor(), { authorization: `Bearer ${person.client.token}` }],
];

/** Forged forms, sent from the browser of a user who may use the route. */
const forgeries = ({ person: { visitor }, stale }: Somebody): Attempt[] => [
  ["of another origin", copyVisitor(visitor), { origin: "https://evil.example" }],
  ["of another origin, by nobody", new Visitor(), { origin: "https://evil.example" }],
  ["of no origin", copyVisitor(visitor), { origin: "null" }],
  ["of another site", copyVisitor(visitor), { "sec-fetch-site": "cross-site" }],
  ["of a site beside ours", copyVisitor(visitor), { "sec-fetch-site": "same-site" }],
  ["without a token", copyVisitor(visitor, "")],
  ["with a wrong token", copyVisitor(visitor, "0".repeat(64))],
  ["with another's token", copyVisitor(visitor, stranger.visitor.formToken)],
  ["with a token of an earlier session", copyVisitor(visitor, stale.signedOut.formToken)],
];

/**
 * Returns two of the requests for the nth route. All of them come up for every other route too, because a page and
 * its action often alternate. At night each route makes all of them.
 */
function inTurn<Tried>(attempts: Tried[], n: number): Tried[] {
  const from = n % attempts.length;
  return sized([...attempts, ...attempts].slice(from, from + 2), attempts);
}

const ROUTES = Object.entries(DASHBOARD_ROUTES).map(([key, route], n) => ({ key, route, n }));

describe.each(ROUTES)("$key", ({ key, route, n }) => {
  const isPage = key.startsWith("GET ");
  const isTheirs = route.audience === "owner" || route.audience === "operators";
  const {
    audience,
    anonymousStatus = isPage ? 303 : 401,
    status: expected = isPage ? 200 : 303,
  } = route;

  it("a route admits its audience and nobody else", { timeout: LONG }, async () => {
    const somebody = await rightful(route);
    const { person } = somebody;
    const place = await placeOf(route.parameters, person, isPage);
    const places = [place];
    if (route.publicParameters) places.push(await placeOf(route.publicParameters, person, isPage));
    const asking = askingFor(key, route, place, person);
    const state = async () => [await everything(), await route.readState?.(place, person)];

    const strangers =
      audience === "everybody" && !isPage ? [] : inTurn(await nobodies(somebody), n);
    const before = await state();
    for (const [who, visitor, headers] of strangers) {
      const { status, location } = await asking(visitor, headers);
      // A request with a token is for the API, which has no such address.
      expect([who, status]).toEqual([who, route.json && headers ? 404 : anonymousStatus]);
      if (isPage && status === 303) expect(location).toMatch(/^\/sign-in/);
    }
    for (const one of isPage || isTheirs ? places : []) {
      const asStranger = askingFor(key, route, one, person);
      const { status, html } = await elevenSecondsLater(() =>
        asStranger(copyVisitor(stranger.visitor)),
      );
      if (isTheirs) expect([403, 404]).toContain(status);
      else expect(html).not.toContain(person.username);
    }
    for (const [how, visitor, headers] of isPage ? [] : inTurn(forgeries(somebody), n)) {
      const { status } = await asking(visitor, headers);
      expect([how, status]).toEqual([how, 403]);
    }
    expect(await state()).toEqual(before);

    const { status, html } = await asking(copyVisitor(person.visitor));
    expect({ status, html }).toMatchObject({ status: expected });
    if (isPage || route.changesNothing || expected >= 400) return;
    await eventually(async () => expect(await state()).not.toEqual(before));
  });
});

const BY_ROLE = [...ORGANIZATION_ROUTES, ...MEMBER_ROUTES].map(
  ([key, own, route], n) => ({ key, own, route, n }) as const,
);

describe.each(BY_ROLE)("$key, by role", ({ key, own, route, n }) => {
  const isPage = key.startsWith("GET ");
  const { role: least = "member", status: expected = isPage ? 200 : 303 } = route;
  const admitted = ROLES.filter((role) => hasRole({ role }, least));
  const tooLow = ROLES.filter((role) => !admitted.includes(role));
  // A page shows the least to the lowest of its roles, and everything to an owner.
  const looking = sized([...new Set([least, "owner" as const])], admitted);

  it("the route of an organization admits the roles of the table", { timeout: LONG }, async () => {
    organization ??= await newDashboardOrganization();
    const { account, visitors, outsider, removed, lapsed } = organization;
    // The next route gets another organization.
    if (key === `POST ${ORGANIZATION}/delete`) organization = undefined;
    const place = await placeOf(route.parameters, account, isPage);
    const asking = askingFor(own, route, place, account);
    const state = async () => [await everything(), await route.readState?.(place, account)];
    const before = await state();
    const outsiders: [string, Visitor, number[]][] = [
      ["nobody", new Visitor(undefined, account.visitor.base), isPage ? [303] : [401]],
      ["an outsider", outsider, [404]],
      ["a removed member", removed, [404]],
      ["an OIDC member whose group is gone", lapsed, [404]],
    ];
    // The highest of the roles that are too low has the most rights.
    const members = sized(tooLow.slice(-1), tooLow).map((role): (typeof outsiders)[number] => {
      return [role, visitors[role], [403, 404]];
    });
    const refused = [...inTurn(outsiders, n), ...members];
    for (const [who, visitor, statuses] of refused) {
      const { status } = await asking(copyVisitor(visitor));
      expect([who, statuses.includes(status) ? "refused" : status]).toEqual([who, "refused"]);
    }
    expect(await state()).toEqual(before);
    for (const role of isPage ? looking : [least]) {
      const { status, html } = await asking(copyVisitor(visitors[role]));
      expect({ role, status, html }).toMatchObject({ role, status: expected });
    }
    if (isPage || route.changesNothing || expected >= 400) return;
    await eventually(async () => expect(await state()).not.toEqual(before));
  });
});

describe("the API", () => {
  const RUNNER_ROUTES = app.routes.filter(
    ({ method, path }) => method !== "ALL" && path.startsWith("/v1/runner/"),
  );

  /** A client with the session of an operator and no token. */
  class Rider extends Client {
    readonly #own: Record<string, string>;

    constructor({ cookies, formToken }: Visitor) {
      super(undefined);
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      this.#own = { cookie, origin: ORIGIN, "x-form-token": formToken };
    }

    override fetch(path: string, init: Parameters<Client["fetch"]>[1] = {}) {
      return super.fetch(path, { ...init, headers: { ...init.headers, ...this.#own } });
    }
  }

  it("the API accepts no session", async () => {
    const { username, visitor } = operator.person;
    const rider = new Rider(visitor);
    const nobody = new Client(undefined);
    const { name: model_name } = await newModel(operator.person.client);
    const place = { username, model_owner: username, model_name };
    for (const [key, endpoint] of Object.entries({ ...ENDPOINT_ACCESS, ...OPERATOR_ENDPOINTS })) {
      const [riding, walking] = await Promise.all([
        callEndpoint(rider, key, place, endpoint),
        callEndpoint(nobody, key, place, endpoint),
      ]);
      expect([key, riding.status, riding.text]).toEqual([key, walking.status, walking.text]);
    }
    for (const { method, path } of RUNNER_ROUTES)
      expect([path, (await rider.fetch(path, { method })).status]).toEqual([path, 401]);
  });
});

describe("better-auth's own routes", () => {
  it("better-auth's routes are only those that passkeys and GitHub need", async () => {
    const { api } = await getAuth(getServices(env), ORIGIN);
    const reached = new Set<string>();
    for (const { path, options } of Object.values(api)) {
      for (const method of [options.method].flat()) {
        const answer = await copyVisitor(operator.person.visitor).call(method, `/auth${path}`);
        await answer.text();
        if (answer.status !== 404) reached.add(path);
      }
    }
    expect(Object.keys(api).length).toBeGreaterThan(20);
    expect([...reached].toSorted()).toEqual([
      "/passkey/generate-authenticate-options",
      "/passkey/generate-register-options",
      "/passkey/verify-authentication",
      "/passkey/verify-registration",
    ]);
  });

  it("nobody makes a passkey for somebody else", async () => {
    const register = "/auth/passkey/verify-registration";
    const asPage = { accept: "text/html" };
    for (const [who, visitor, headers] of await nobodies(owner)) {
      for (const path of ["/auth/passkey/generate-register-options", register]) {
        const method = path === register ? "POST" : "GET";
        const answer = await visitor.request(path, {
          method,
          headers: { ...asPage, origin: ORIGIN, "content-type": "application/json", ...headers },
          ...(method === "POST" && { body: '{"response": {}}' }),
        });
        expect([who, path, answer.status]).toEqual([who, path, 401]);
      }
    }
    for (const [how, visitor, headers] of forgeries(owner)) {
      const { status } = await visitor.send(register, {}, headers);
      expect([how, status]).toEqual([how, 403]);
    }
  });
});

it("a refusal links back to the page of this site that led to it, and to no other", async () => {
  const { visitor } = await newDashboardUser();
  const from = async (referer: string) =>
    (await visitor.look("/models/nobody/nothing", { referer })).html;
  expect(await from(`${ORIGIN}/models?q=a`)).toContain('<a href="/models?q=a">Back</a>');
  expect(await from(`${ORIGIN}//example.com/models`)).not.toContain("//example.com");
  for (const other of [`${ORIGIN}/models/nobody/nothing`, "https://example.com/models", "", "no"])
    expect(await from(other)).not.toContain(">Back</a>");
});
