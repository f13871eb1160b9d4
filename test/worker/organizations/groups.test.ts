/** Memberships from the groups of an OpenID Connect provider: set at each login, and lapsing. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CHECK_MS } from "../../../src/domain/accounts/access.ts";
import type { Member, Role } from "../../../src/protocol/organization.ts";
import { getServices } from "../../../src/services/services.ts";
import { ORIGINS } from "../../oidc/person.ts";
import { run } from "../support/accounts.ts";
import { entriesOf } from "../support/audit.ts";
import { Client } from "../support/client.ts";
import { EventReader } from "../support/events.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { captureLog } from "../support/log.ts";
import { newPerson, OidcVisitor, oidcSettings } from "../support/oidc.ts";
import { newOrganization, type Organization, setRole } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, operator, unique } from "../support/world.ts";

const { settings } = getServices(env);
const [ORIGIN] = ORIGINS;
const oidc = oidcSettings();
const DAY_SECONDS = 86_400;
/** The age at which no cached role is used any more. */
const STALE = 10.001;

beforeEach(() => {
  stopClock();
  Object.assign(oidc, oidcSettings());
  settings.oidc = oidc;
});
afterEach(() => {
  settings.oidc = undefined;
  startClock();
  vi.restoreAllMocks();
});

interface Named {
  username: string;
}

/** Lets a group have a role in an organization. @returns the name of the group */
function groupOf({ username: organization }: Named, role: Role): string {
  const group = unique("group");
  oidc.groups.set(group, { organization, role });
  return group;
}

/** A person at the provider, who logs in with other groups each time. */
async function newEmployee(...groups: string[]) {
  const person = await newPerson({ claims: { groups } });
  const browser = new OidcVisitor(ORIGIN);
  const username = await browser.join(person);
  return {
    username,
    own: await newClient(username),
    browser,
    enter: async (claims: Record<string, unknown>, thin = false) => {
      // The clock of the tests is ahead of the provider's.
      const iat = Math.floor(Date.now() / 1_000);
      await newPerson({ sub: person.sub, claims, thin, forged: { iat, exp: iat + 600 } });
      expect(await new OidcVisitor(ORIGIN).enter(person)).toBe("/");
    },
  };
}

const memberIn = async ({ client, username }: Organization, person: Named) => {
  const { items } = await client.ok<{ items: Member[] }>(
    "GET",
    `/v1/organizations/${username}/members`,
  );
  return items.find(({ user }) => "username" in user && user.username === person.username);
};

const roleIn = async (organization: Organization, person: Named) =>
  (await memberIn(organization, person))?.role;

const owned = async () => {
  const organization = await newOrganization();
  await organization.join("owner");
  return organization;
};

describe("groups", () => {
  it("the audit log has each change that a login makes, and none of a login that makes none", async () => {
    const [one, two] = [await owned(), await owned()];
    const [developers, admins] = [groupOf(one, "developer"), groupOf(one, "admin")];
    const others = groupOf(two, "member");
    const employee = await newEmployee(developers);
    await employee.enter({ groups: [developers] });
    await employee.enter({ groups: [admins, others] });
    await employee.enter({ groups: [others] });
    const changesIn = async ({ client }: Organization) =>
      (await entriesOf(client, "?action=member.*")).map(({ action, actor, targets, changes }) => {
        expect([actor.name, targets[0]?.name]).toEqual([employee.username, employee.username]);
        return [action, changes?.before.role, changes?.after.role];
      });
    // Entries of one millisecond have any order, and the clock stands still.
    expect((await changesIn(one)).toSorted()).toEqual([
      ["member.added", null, "developer"],
      ["member.removed", "admin", null],
      ["member.updated", "developer", "admin"],
    ]);
    expect(await changesIn(two)).toEqual([["member.added", null, "member"]]);
  });

  it("a new person is a member as soon as they have a username", async () => {
    const organization = await owned();
    const employee = await newEmployee(groupOf(organization, "developer"), "unknown");
    expect(await roleIn(organization, employee)).toBe("developer");
    const { html } = await employee.browser.look(`/organizations/${organization.username}/members`);
    expect(html).toContain("by a group; lapses");
  });

  it("the highest role of several groups counts, and a login raises, lowers and removes", async () => {
    const organization = await owned();
    const [low, high] = [groupOf(organization, "member"), groupOf(organization, "admin")];
    const employee = await newEmployee();
    const steps: [unknown, Role | undefined][] = [
      [[low], "member"],
      [[low, high], "admin"],
      [high, "admin"],
      [[low], "member"],
      [[], undefined],
      [[high], "admin"],
      [undefined, undefined],
    ];
    for (const [groups, role] of steps) {
      await employee.enter({ groups });
      expect(await roleIn(organization, employee)).toBe(role);
    }
    await employee.enter({ groups: [high] }, true);
    expect(await roleIn(organization, employee)).toBe("admin");
  });

  it("the claim is the one of OIDC_GROUPS_CLAIM", async () => {
    const organization = await owned();
    const employee = await newEmployee();
    oidc.groupsClaim = "name";
    await employee.enter({ name: groupOf(organization, "member") });
    expect(await roleIn(organization, employee)).toBe("member");
  });

  it("a member whose group is gone loses their tokens, and service tokens stay", async () => {
    const organization = await owned();
    const [group, another] = [groupOf(organization, "admin"), await owned()];
    const employee = await newEmployee(group, groupOf(another, "member"));
    const path = `/v1/organizations/${organization.username}/tokens`;
    const tokenAt = async (at: string, body = {}) =>
      new Client(
        (await employee.own.ok<{ token: string }>("POST", at, { name: "x", ...body })).token,
      );
    const clients = [
      await tokenAt(path),
      await tokenAt(path, { service_role: "member" }),
      await tokenAt(`/v1/organizations/${another.username}/tokens`),
      employee.own,
    ];
    const statuses = () =>
      Promise.all(clients.map(async (by) => (await by.fetch("/v1/user")).status));
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    const { groups } = { groups: [...oidc.groups.keys()].filter((one) => one !== group) };
    await employee.enter({ groups });
    expect(await statuses()).toEqual([401, 200, 200, 200]);
    await employee.enter({ groups: [group, ...groups] });
    expect(await statuses()).toEqual([401, 200, 200, 200]);
  });

  it("members whom a person added are not changed", async () => {
    const organization = await owned();
    const group = groupOf(organization, "member");
    const employee = await newEmployee();
    const { id: user_id } = await employee.own.ok<{ id: string }>("GET", "/v1/user");
    await setRole(organization, { user_id }, "admin");
    for (const groups of [[group], []]) {
      await employee.enter({ groups });
      expect(await roleIn(organization, employee)).toBe("admin");
    }
    advance(30 * DAY_SECONDS);
    expect((await employee.own.fetch(`/v1/organizations/${organization.username}`)).status).toBe(
      200,
    );
  });

  it("the last owner stays one, until there is another", async () => {
    const organization = await newOrganization();
    const [high, low] = [groupOf(organization, "owner"), groupOf(organization, "member")];
    const employee = await newEmployee(high);
    for (const groups of [[low], []]) {
      await employee.enter({ groups });
      expect(await roleIn(organization, employee)).toBe("owner");
    }
    await organization.join("owner");
    await employee.enter({ groups: [low] });
    expect(await roleIn(organization, employee)).toBe("member");
    await employee.enter({ groups: [] });
    expect(await roleIn(organization, employee)).toBeUndefined();
  });

  it("an owner whom the operator appoints is none by a group any more", async () => {
    const organization = await newOrganization();
    const employee = await newEmployee(groupOf(organization, "member"));
    const path = `/v1/operator/organizations/${organization.username}/owners/${employee.username}`;
    await operator.ok("PUT", path);
    await organization.join("owner");
    await employee.enter({ groups: [] });
    expect(await roleIn(organization, employee)).toBe("owner");
  });

  it("an organization that does not exist is skipped, and the log says what to do", async () => {
    const log = captureLog("warn");
    const name = unique("org");
    const organization = await owned();
    const employee = await newEmployee(
      groupOf({ username: name }, "member"),
      groupOf(await newUser(), "member"),
      groupOf(organization, "member"),
    );
    expect(await roleIn(organization, employee)).toBe("member");
    const message = expect.stringContaining("Create it, or correct its name");
    expect(log.entries()).toContainEqual(expect.objectContaining({ message, organization: name }));
  });

  it("a person in too many groups for the token logs in without any, and the log says so", async () => {
    const log = captureLog("warn");
    const organization = await owned();
    const employee = await newEmployee(groupOf(organization, "member"));
    await employee.enter({ _claim_names: { groups: "src1" } });
    expect(await roleIn(organization, employee)).toBeUndefined();
    const message = expect.stringContaining("in too many");
    expect(log.entries()).toContainEqual(expect.objectContaining({ message, claim: "groups" }));
  });
});

describe("a membership from a group lapses", () => {
  it("tokens work until OIDC_DAYS after the last login, and again after the next", async () => {
    const organization = await owned();
    const group = groupOf(organization, "developer");
    const begun = Date.now();
    const employee = await newEmployee(group);
    const path = `/v1/organizations/${organization.username}`;
    const { token } = await employee.own.ok<{ token: string }>("POST", `${path}/tokens`, {
      name: "x",
    });
    const client = new Client(token);
    const statuses = async () => [
      (await client.fetch("/v1/user")).status,
      (await employee.own.fetch(path)).status,
      (await employee.own.fetch(`/v1/models/${organization.model}`)).status,
    ];
    advance(7 * DAY_SECONDS - 20);
    expect(await statuses()).toEqual([200, 200, 200]);
    advance(21);
    expect(await statuses()).toEqual([401, 404, 404]);
    const lapses_at = new Date(begun + 7 * DAY_SECONDS * 1_000).toISOString();
    expect(await memberIn(organization, employee)).toMatchObject({ role: "developer", lapses_at });
    const { status } = await employee.browser.look(`/organizations/${organization.username}`);
    expect(status).toBe(404);
    await employee.enter({ groups: [group] });
    expect(await statuses()).toEqual([200, 200, 200]);
    advance(6 * DAY_SECONDS);
    expect(await statuses()).toEqual([200, 200, 200]);
  });

  it("the days count from the login, not from when a username was chosen", async () => {
    const organization = await owned();
    const person = await newPerson({ claims: { groups: [groupOf(organization, "member")] } });
    const browser = new OidcVisitor(ORIGIN);
    expect(await browser.enter(person)).toBe("/welcome");
    await browser.look("/welcome");
    advance(8 * DAY_SECONDS);
    const username = unique("eve");
    await browser.send("/welcome", { username, name: "Eve" });
    const own = await newClient(username);
    expect((await own.fetch(`/v1/organizations/${organization.username}`)).status).toBe(404);
  });

  it("the last owner keeps access, and loses it to another owner", async () => {
    const organization = await newOrganization();
    const employee = await newEmployee(groupOf(organization, "owner"));
    const path = `/v1/organizations/${organization.username}`;
    advance(8 * DAY_SECONDS);
    expect((await employee.own.fetch(path)).status).toBe(200);
    await organization.join("owner");
    expect((await employee.own.fetch(path)).status).toBe(404);
  });

  it("an owner who has lapsed does not count as another owner", async () => {
    const organization = await newOrganization();
    const stays = await organization.join("owner");
    await newEmployee(groupOf(organization, "owner"));
    const path = `/v1/organizations/${organization.username}/members/${stays.username}`;
    advance(8 * DAY_SECONDS);
    expect((await organization.client.json("DELETE", path)).status).toBe(409);
  });

  it("an invitation from a member who has lapsed is not open", async () => {
    const organization = await owned();
    const employee = await newEmployee(groupOf(organization, "admin"));
    const path = `/v1/organizations/${organization.username}/invitations`;
    const { invitation } = await employee.own.ok<{ invitation: string }>("POST", path, {});
    await run("UPDATE members SET lapses_at = 1 WHERE lapses_at IS NOT NULL");
    const { client: guest } = await newUser();
    expect((await guest.json("POST", "/v1/user/organizations", { invitation })).status).toBe(404);
  });

  it("a stream that is open then ends as that of a member who was removed", async () => {
    const check = holdTimers(CHECK_MS);
    const organization = await owned();
    const employee = await newEmployee(groupOf(organization, "developer"));
    const { token } = await employee.own.ok<{ token: string }>(
      "POST",
      `/v1/organizations/${organization.username}/tokens`,
      { name: "x" },
    );
    const client = new Client(token);
    const { id, channel } = await organization.begun();
    const events = new EventReader((await client.stream(id)).body);
    await run("UPDATE members SET lapses_at = 1 WHERE lapses_at IS NOT NULL");
    advance(STALE);
    check();
    await channel.report([{ event: "output", data: "secret" }]);
    const words: string[] = [];
    for (let event = await events.next(); event; event = await events.next())
      words.push(event.event);
    expect(words.at(-1)).toBe("problem");
  });
});
