/** Who gets somewhere in the dashboard, and who does not: every page and action, one by one. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../../src/app.ts";
import { createDashboard } from "../../../src/dashboard/app.tsx";
import { getServices } from "../../../src/services/services.ts";
import { getAuth } from "../../../src/services/sign-in/auth-loader.ts";
import { ask, ENDPOINTS, OPERATOR_ENDPOINTS } from "../support/access.ts";
import { newModel } from "../support/catalogue.ts";
import { Client, ORIGIN } from "../support/client.ts";
import {
  like,
  newOperator,
  newPerson,
  type Person,
  type Stale,
  staleOf,
} from "../support/people.ts";
import type { Place } from "../support/places.ts";
import { ROOMS, type Room } from "../support/rooms.ts";
import { everything } from "../support/state.ts";
import { eventually } from "../support/time.ts";
import { Visitor } from "../support/visitor.ts";

/** Passwords take long to be checked, on purpose. */
const LONG = 60_000;

/** What stands before pages, and better-auth's own addresses, which are looked at below. */
const NO_PAGES = ["/*", "/auth/*", "/uploads/*"];

it("the table names every page and action", () => {
  const { routes } = createDashboard(app);
  const pages = routes.filter(({ method }) => method !== "ALL");
  const others = routes.filter(({ method }) => method === "ALL").map(({ path }) => path);
  const named = pages.map(({ method, path }) => `${method} ${path}`);
  expect(Object.keys(ROOMS).toSorted()).toEqual([...new Set(named)].toSorted());
  expect(NO_PAGES).toEqual(expect.arrayContaining(others));
});

interface Somebody {
  person: Person;
  stale: Stale;
}

const withStale = async (person: Person): Promise<Somebody> => ({
  person,
  stale: await staleOf(person),
});

let owner: Somebody;
let operator: Somebody;
let stranger: Person;

beforeAll(async () => {
  owner = await withStale(await newPerson());
  operator = await withStale(await newOperator());
  stranger = await newPerson();
}, LONG);

/** For whom a room is: of what ends an account or its sessions somebody of its own. */
async function rightful({ of, ends }: Room): Promise<Somebody> {
  if (ends) return withStale(await newPerson());
  return of === "operators" ? operator : owner;
}

interface Answer {
  status: number;
  location: string | undefined;
  html: string;
}

type Asking = (visitor: Visitor, headers?: Record<string, string>) => Promise<Answer>;

/** Asks for what a row names, as different people. */
function askingFor(key: string, { form, json }: Room, place: Place, person: Person): Asking {
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

type Attempt = [how: string, visitor: Visitor, headers?: Record<string, string>];

/** Sessions that are none: whoever comes with them is nobody. */
const nobodies = async ({ person, stale }: Somebody): Promise<Attempt[]> => [
  ["nobody", new Visitor()],
  ["signed out", like(stale.signedOut)],
  ["expired", await stale.expired()],
  ["an access token", new Visitor(), { authorization: `Bearer ${person.client.token}` }],
];

/** Forms that are not ours, sent by the browser of whom they are for. */
const forgeries = ({ person: { visitor }, stale }: Somebody): Attempt[] => [
  ["of another origin", like(visitor), { origin: "https://evil.example" }],
  ["of another origin, by nobody", new Visitor(), { origin: "https://evil.example" }],
  ["of no origin", like(visitor), { origin: "null" }],
  ["of another site", like(visitor), { "sec-fetch-site": "cross-site" }],
  ["of a site beside ours", like(visitor), { "sec-fetch-site": "same-site" }],
  ["without a token", like(visitor, "")],
  ["with a wrong token", like(visitor, "0".repeat(64))],
  ["with another's token", like(visitor, stranger.visitor.formToken)],
  ["with a token of an earlier session", like(visitor, stale.signedOut.formToken)],
];

describe.each(Object.entries(ROOMS))("%s", (key, room) => {
  const isPage = key.startsWith("GET ");
  const isTheirs = room.of === "owner" || room.of === "operators";
  const { of, nobody = isPage ? 303 : 401, answers = isPage ? 200 : 303 } = room;

  it("lets in whom it is for, and nobody else", { timeout: LONG }, async () => {
    const somebody = await rightful(room);
    const { person } = somebody;
    const place = (await room.place?.(person)) ?? {};
    const shown = room.shown ? [await room.shown(person)] : [];
    const asking = askingFor(key, room, place, person);
    const state = async () => [await everything(), await room.look?.(place, person)];

    const strangers = of === "everybody" && !isPage ? [] : await nobodies(somebody);
    const before = await state();
    for (const [who, visitor, headers] of strangers) {
      const { status, location } = await asking(visitor, headers);
      // A program with a token means the API, which has nothing there.
      expect([who, status]).toEqual([who, room.json && headers ? 404 : nobody]);
      if (isPage && status === 303) expect(location).toMatch(/^\/sign-in/);
    }
    for (const one of isPage || isTheirs ? [place, ...shown] : []) {
      const { status, html } = await askingFor(key, room, one, person)(like(stranger.visitor));
      if (isTheirs) expect([403, 404]).toContain(status);
      else expect(html).not.toContain(person.username);
    }
    for (const [how, visitor, headers] of isPage ? [] : forgeries(somebody)) {
      const { status } = await asking(visitor, headers);
      expect([how, status]).toEqual([how, 403]);
    }
    expect(await state()).toEqual(before);

    const { status, html } = await asking(like(person.visitor));
    expect({ status, html }).toMatchObject({ status: answers });
    if (isPage || room.idle || answers >= 400) return;
    await eventually(async () => expect(await state()).not.toEqual(before));
  });
});

describe("the API", () => {
  const RUNNER_ROUTES = app.routes.filter(
    ({ method, path }) => method !== "ALL" && path.startsWith("/v1/runner/"),
  );

  /** Whoever brings the session of an operator, and no token. */
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

  it("knows no session", async () => {
    const { username, visitor } = operator.person;
    const rider = new Rider(visitor);
    const nobody = new Client(undefined);
    const { name: model_name } = await newModel(operator.person.client);
    const place = { username, model_owner: username, model_name };
    for (const [key, endpoint] of Object.entries({ ...ENDPOINTS, ...OPERATOR_ENDPOINTS })) {
      const [riding, walking] = await Promise.all([
        ask(rider, key, place, endpoint),
        ask(nobody, key, place, endpoint),
      ]);
      expect([key, riding.status, riding.text]).toEqual([key, walking.status, walking.text]);
    }
    for (const { method, path } of RUNNER_ROUTES)
      expect([path, (await rider.fetch(path, { method })).status]).toEqual([path, 401]);
  });
});

describe("of what better-auth answers by itself", () => {
  it("there is no more than what passkeys and GitHub need", async () => {
    const { api } = await getAuth(getServices(env), ORIGIN);
    const reached = new Set<string>();
    for (const { path, options } of Object.values(api)) {
      for (const method of [options.method].flat()) {
        const answer = await like(operator.person.visitor).call(method, `/auth${path}`);
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
