/** Random changes of an organization: nobody may ever do more than the table of roles and the shares allow. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ROLES, type Role, type ShareLevel } from "../../../src/protocol/organization.ts";
import { sized } from "../../support/sized.ts";
import { Client } from "../support/client.ts";
import { newOrganization } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const PEOPLE = 4;
const STALE = 10.001;

const person = fc.nat(PEOPLE - 1);
const role = fc.constantFrom(...ROLES);
const level = fc.constantFrom<(ShareLevel | undefined)[]>("run", "write", undefined);
/** The number of a token of the organization. */
const token = fc.nat(5);
const modelChanges = fc.oneof(
  fc.constant("name" as const),
  fc.record({ visibility: fc.constantFrom("private" as const, "public" as const) }),
);
const change = fc.oneof(
  fc.record({ kind: fc.constant("role" as const), by: person, whom: person, role }),
  fc.record({ kind: fc.constant("remove" as const), by: person, whom: person }),
  fc.record({ kind: fc.constant("invite" as const), by: person, whom: person, role }),
  fc.record({ kind: fc.constant("share" as const), by: token, whom: person, level }),
  fc.record({ kind: fc.constant("leave" as const), by: person }),
  fc.record({ kind: fc.constant("model" as const), by: token, changes: modelChanges }),
  fc.record({ kind: fc.constant("rename" as const), by: person }),
  fc.record({ kind: fc.constant("token" as const), by: person, service: fc.boolean(), role }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const rank = (held: Role | undefined) => (held === undefined ? -1 : ROLES.indexOf(held));
const has = (held: Role | undefined, least: Role) => rank(held) >= rank(least);

/** An organization, its people, and what they may do by the table of roles. */
async function newScene() {
  const organization = await newOrganization();
  const [owner, ...others] = [
    await organization.join("owner"),
    ...(await Promise.all(Array.from({ length: PEOPLE - 1 }, () => newUser()))).map(
      ({ client, ...one }) => ({ ...one, own: client }),
    ),
  ];
  const people = [owner, ...others];
  const roles = new Map<number, Role>([[0, "owner"]]);
  const levels = new Map<number, ShareLevel>();
  const tokens: { client: Client; maker: number; service: Role | undefined; ended: boolean }[] = [];
  let name = organization.username;
  let story = "story";
  let isPublic = false;
  /** Returns a token of the organization, with the role that it has now. Undefined: it has ended. */
  const actor = (n: number): { client: Client; held: Role | undefined } => {
    const one = tokens[n % (tokens.length + 1)];
    if (!one) return { client: organization.client, held: "owner" };
    return {
      client: one.client,
      held: one.ended ? undefined : (one.service ?? roles.get(one.maker)),
    };
  };
  const refusal = (held: Role | undefined) => (held === undefined ? 401 : 403);
  const path = () => `/v1/organizations/${name}`;
  const owners = () => [...roles.values()].filter((one) => one === "owner").length;
  const end = (whom: number) => {
    roles.delete(whom);
    for (const token of tokens)
      if (token.maker === whom && token.service === undefined) token.ended = true;
  };

  /** Tries a change, and checks that it succeeds only if the table allows it. */
  async function apply(one: Change): Promise<void> {
    const statusOf = async (answering: Promise<{ status: number }>) => (await answering).status;
    const model = `/v1/models/${name}/${story}`;
    const shareOf = (whom: number) => `${model}/collaborators/${people[whom]?.username}`;
    if (one.kind === "share") {
      const { client, held } = actor(one.by);
      const { whom, level } = one;
      const status = await statusOf(
        level ? client.json("PUT", shareOf(whom), { level }) : client.json("DELETE", shareOf(whom)),
      );
      const done = level || levels.has(whom) ? 200 : 404;
      expect(status).toBe(has(held, "admin") ? done : refusal(held));
      if (status === 200 && level) levels.set(whom, level);
      else if (status === 200) levels.delete(whom);
      return;
    }
    if (one.kind === "model") {
      // A role that was read less than 10 seconds ago still counts for these changes.
      advance(STALE);
      const { client, held } = actor(one.by);
      const changes = one.changes === "name" ? { name: unique("story") } : one.changes;
      const status = await statusOf(client.json("PATCH", model, changes));
      expect(status).toBe(has(held, "developer") ? 200 : refusal(held));
      if (status !== 200) return;
      if ("name" in changes) story = changes.name;
      else isPublic = changes.visibility === "public";
      return;
    }
    const by = people[one.by]?.own ?? expect.fail();
    const held = roles.get(one.by);
    if (one.kind === "leave") {
      const status = await statusOf(by.json("DELETE", shareOf(one.by)));
      expect(status).toBe(levels.has(one.by) ? 200 : 404);
      levels.delete(one.by);
      return;
    }
    if (one.kind === "rename") {
      const username = unique("org");
      const status = await statusOf(by.json("PATCH", path(), { username }));
      // An account holds five usernames.
      if (status === 200) name = username;
      else if (has(held, "owner")) expect(status).toBe(409);
      else expect(status).toBe(held === undefined ? 404 : 403);
    } else if (one.kind === "token") {
      const service_role = one.service ? one.role : null;
      const isAllowed = one.service
        ? has(held, "admin") && rank(one.role) <= rank(held)
        : held !== undefined;
      const body = { name: "test", service_role };
      const answer = await by.json<{ token: string }>("POST", `${path()}/tokens`, body);
      expect(answer.status === 200).toBe(isAllowed);
      if (answer.status !== 200) return;
      const client = new Client(answer.body.token);
      tokens.push({ client, maker: one.by, service: service_role ?? undefined, ended: false });
    } else {
      const whom = people[one.whom] ?? expect.fail();
      const theirs = roles.get(one.whom);
      const member = `${path()}/members/${whom.username}`;
      const isLast = theirs === "owner" && owners() === 1;
      if (one.kind === "invite") {
        const invited = await by.json<{ invitation: string }>("POST", `${path()}/invitations`, {
          role: one.role,
        });
        const isAllowed = has(held, one.role === "owner" ? "owner" : "admin");
        expect(invited.status === 200).toBe(isAllowed);
        if (!isAllowed) return;
        const { invitation } = invited.body;
        const joined = await statusOf(
          whom.own.json("POST", "/v1/user/organizations", { invitation }),
        );
        expect(joined).toBe(theirs === undefined ? 200 : 409);
        if (theirs === undefined) roles.set(one.whom, one.role);
      } else if (one.kind === "role") {
        const least = theirs === "owner" || one.role === "owner" ? "owner" : "admin";
        const isAllowed =
          theirs !== undefined && has(held, least) && !(isLast && one.role !== "owner");
        const status = await statusOf(by.json("PUT", member, { role: one.role }));
        expect(status === 200).toBe(isAllowed);
        if (isAllowed) roles.set(one.whom, one.role);
      } else {
        const isSelf = one.by === one.whom;
        const isAllowed =
          theirs !== undefined &&
          (isSelf || has(held, theirs === "owner" ? "owner" : "admin")) &&
          !isLast;
        const status = await statusOf(by.json("DELETE", member));
        expect(status === 200).toBe(isAllowed);
        if (isAllowed) end(one.whom);
      }
    }
  }

  /** Checks what each person and each token can do once no cache is older than the last change. */
  async function check(): Promise<void> {
    advance(STALE);
    const model = `${name}/${story}`;
    const theirs = (await organization.client.create({ model, input: {} })).body.id;
    const status = async (by: Client, path: string) => (await by.fetch(path)).status;
    const runs = async (by: Client) =>
      (await by.post("/v1/predictions", { model, input: {} })).status;
    for (const [n, { own }] of people.entries()) {
      const sees = isPublic || roles.has(n) || levels.has(n);
      expect(await status(own, `/v1/models/${model}`)).toBe(sees ? 200 : 404);
      expect(await runs(own)).toBe(sees ? 202 : 404);
      expect(await status(own, `/v1/predictions/${theirs}`)).toBe(404);
      expect(await status(own, path())).toBe(roles.has(n) ? 200 : 404);
      const text = own.json("PATCH", `/v1/models/${model}`, { description: "x" });
      const refused = sees ? 403 : 404;
      expect((await text).status).toBe(levels.get(n) === "write" ? 200 : refused);
      expect(await status(own, `/v1/models/${model}/collaborators`)).toBe(refused);
      expect(await status(own, `/v1/models/${model}/variables`)).toBe(refused);
    }
    for (const { client, maker, service, ended } of tokens) {
      const held = ended ? undefined : (service ?? roles.get(maker));
      const expected = (least: Role, refused: number) => {
        if (held === undefined) return 401;
        return has(held, least) ? 200 : refused;
      };
      expect(await status(client, `/v1/models/${model}`)).toBe(expected("member", 0));
      expect(await runs(client)).toBe(held === undefined ? 401 : 202);
      expect(await status(client, `/v1/predictions/${theirs}`)).toBe(expected("developer", 404));
      expect(await status(client, `/v1/predictions/${theirs}/stream`)).toBe(
        expected("developer", 404),
      );
      expect(await status(client, "/v1/webhook-endpoints")).toBe(expected("developer", 403));
      const patch = client.json("PATCH", `/v1/models/${model}`, { description: "x" });
      expect((await patch).status).toBe(expected("developer", 403));
      const profile = client.json("PATCH", "/v1/user", { bio: "x" });
      expect((await profile).status).toBe(expected("admin", 403));
    }
  }
  return { apply, check };
}

/** 300 sequences take a quarter of an hour on a busy machine; the limit only notices a test that hangs. */
const HANG_MS = 3_600_000;

test("no sequence of changes lets anybody do what roles and shares forbid", {
  timeout: HANG_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 5, maxLength: 15 }), async (changes) => {
      const { apply, check } = await newScene();
      for (const one of changes) await apply(one);
      await check();
    }),
    { numRuns: sized(2, 300), endOnFailure: true },
  );
});
