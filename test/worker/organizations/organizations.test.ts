/** The API of organizations: their life, members, invitations and tokens. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type {
  Member,
  Organization,
  OrganizationInvitation,
  OrganizationToken,
  OwnUser,
} from "../../../src/protocol/organization.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { getServices } from "../../../src/services/services.ts";
import { run } from "../support/accounts.ts";
import { Client } from "../support/client.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, newWorld, operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const STALE = 10.001;

const ORGANIZATIONS = "/v1/organizations";

/** Creates an organization and its first owner. */
async function newOrganization() {
  const owner = await newUser();
  const { username: name } = await owner.client.ok<Organization>("POST", ORGANIZATIONS, {
    username: unique("org"),
    name: "Acme",
  });
  const path = `${ORGANIZATIONS}/${name}`;
  const invite = async (by: Client, role: string) =>
    by.json<OrganizationInvitation & { invitation: string; url: string; detail?: string }>(
      "POST",
      `${path}/invitations`,
      { role },
    );
  /** Adds a new person by an invitation of the owner. */
  const join = async (role: string) => {
    const person = await newUser();
    const { invitation } = (await invite(owner.client, role)).body;
    await person.client.ok("POST", "/v1/user/organizations", { invitation });
    return person;
  };
  /** Creates a token of a person, or a service token, for the organization. */
  const tokenOf = async (by: Client, body: object = {}) => {
    const made = { name: "test", ...body };
    return new Client((await by.ok<{ token: string }>("POST", `${path}/tokens`, made)).token);
  };
  return { owner, name, path, invite, join, tokenOf };
}

const setRole = (by: Client, path: string, { username }: { username: string }, role: string) =>
  by.json<{ detail: string }>("PUT", `${path}/members/${username}`, { role });
const removeMember = (by: Client, path: string, { username }: { username: string }) =>
  by.json<{ detail: string }>("DELETE", `${path}/members/${username}`);

describe("an organization", () => {
  test("its creator is its owner, and its tokens act as the organization", async () => {
    const { owner, name, path, tokenOf } = await newOrganization();
    const role = "owner";
    expect(await owner.client.ok(`GET`, path)).toMatchObject({ username: name, role });
    expect(await owner.client.ok("GET", ORGANIZATIONS)).toMatchObject([{ username: name, role }]);
    const me = await owner.client.ok<OwnUser>("GET", "/v1/user");
    expect(me).toMatchObject({ kind: "user", organizations: [{ username: name, role }] });
    const token = await tokenOf(owner.client);
    expect(await token.ok("GET", "/v1/user")).toMatchObject({
      username: name,
      kind: "organization",
    });
    expect(await token.ok("GET", ORGANIZATIONS)).toMatchObject([{ username: name, role }]);
    const model = await token.ok<object>("POST", "/v1/models", { name: "story" });
    expect(model).toMatchObject({ owner: { username: name, kind: "organization" } });
    const stranger = await newUser();
    expect((await stranger.client.fetch(path)).status).toBe(404);
  });

  test("people are listed as users, and organizations are not", async () => {
    const { name, owner } = await newOrganization();
    const { items } = await owner.client.ok<Page<{ username: string }>>(
      "GET",
      "/v1/users?sort_direction=desc&page_size=10",
    );
    expect(items.map(({ username }) => username)).toContain(owner.username);
    expect(items.map(({ username }) => username)).not.toContain(name);
  });

  test("a person creates three organizations, and a deleted one counts until its data is removed", async () => {
    const { client } = await newUser();
    const create = async () =>
      client.json<Organization & { detail: string }>("POST", ORGANIZATIONS, {
        username: unique("org"),
      });
    const made = [await create(), await create(), await create()];
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200]);
    const refused = await create();
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain("ORGANIZATIONS_PER_USER");
    await client.ok("DELETE", `${ORGANIZATIONS}/${made[0]?.body.username}`);
    expect((await create()).status).toBe(409);
    await run("UPDATE users SET username = 'gone/' || seq WHERE username GLOB 'leaving/*'");
    expect((await create()).status).toBe(200);
  });

  test("an organization that an operator creates does not count against its owner's limit", async () => {
    const { client, username } = await newUser();
    for (let n = 0; n < 3; n++) {
      const body = { username: unique("org"), name: "", owner: username };
      await operator.ok("POST", "/v1/operator/organizations", body);
    }
    await client.ok("POST", ORGANIZATIONS, { username: unique("org") });
    expect(await client.ok("GET", ORGANIZATIONS)).toHaveLength(4);
  });

  test("only operators create organizations if users may create none", async () => {
    const { settings } = getServices(env);
    const { organizationsPerUser } = settings;
    settings.organizationsPerUser = 0;
    try {
      const { client, username } = await newUser();
      const body = { username: unique("org"), name: "" };
      expect((await client.json("POST", ORGANIZATIONS, body)).status).toBe(403);
      await operator.ok("POST", "/v1/operator/organizations", { ...body, owner: username });
      expect(await client.ok("GET", ORGANIZATIONS)).toMatchObject([{ role: "owner" }]);
    } finally {
      settings.organizationsPerUser = organizationsPerUser;
    }
  });

  test("an organization's token creates no organization and joins none", async () => {
    const { owner, tokenOf, invite } = await newOrganization();
    const other = await newOrganization();
    const token = await tokenOf(owner.client);
    expect((await token.json("POST", ORGANIZATIONS, { username: unique("org") })).status).toBe(403);
    const { invitation } = (await other.invite(other.owner.client, "admin")).body;
    const joining = await token.json("POST", "/v1/user/organizations", { invitation });
    expect(joining.status).toBe(403);
    expect((await invite(token, "member")).status).toBe(200);
  });

  test("a renamed organization answers only by its new name, also with warm caches", async () => {
    const { owner, name, path, join, tokenOf } = await newOrganization();
    const admin = await join("admin");
    const token = await tokenOf(owner.client);
    await token.ok("POST", "/v1/models", { name: "story" });
    const create = async (model: string) =>
      (await token.post("/v1/predictions", { model, input: {} })).json<{ detail: string }>();
    expect((await create(`${name}/story`)).detail).toContain("has no version");
    const username = unique("renamed");
    expect((await admin.client.send("PATCH", path, { username })).status).toBe(403);
    expect((await admin.client.send("PATCH", path, { name: "New" })).status).toBe(200);
    expect((await owner.client.send("PATCH", path, { username })).status).toBe(200);
    advance(STALE);
    expect((await create(`${name}/story`)).detail).toContain("not found");
    expect((await create(`${username}/story`)).detail).toContain("has no version");
    expect((await owner.client.fetch(path)).status).toBe(404);
    expect((await admin.client.fetch(`${ORGANIZATIONS}/${username}`)).status).toBe(200);
  });

  test("a deleted organization is gone for its members, with all of its tokens", async () => {
    const { owner, path, join, tokenOf, invite } = await newOrganization();
    const admin = await join("admin");
    const tokens = [
      await tokenOf(admin.client),
      await tokenOf(owner.client, { service_role: "admin" }),
    ];
    const { invitation } = (await invite(owner.client, "member")).body;
    expect((await admin.client.json("DELETE", path)).status).toBe(403);
    await owner.client.ok("DELETE", path);
    advance(STALE);
    for (const token of tokens) expect((await token.fetch("/v1/user")).status).toBe(401);
    expect(await admin.client.ok("GET", ORGANIZATIONS)).toEqual([]);
    const late = await newUser();
    const joining = await late.client.json("POST", "/v1/user/organizations", { invitation });
    expect(joining.status).toBe(404);
    // The former owner is free to go.
    await operator.ok("PUT", `/v1/operator/users/${owner.username}/suspension`);
  });
});

describe("members", () => {
  test("an admin manages members up to admin, and only owners manage owners", async () => {
    const { owner, path, join, invite } = await newOrganization();
    const [admin, dev] = [await join("admin"), await join("developer")];
    const by = admin.client;
    expect((await setRole(by, path, dev, "admin")).status).toBe(200);
    expect((await setRole(by, path, dev, "owner")).status).toBe(403);
    expect((await setRole(by, path, owner, "member")).status).toBe(403);
    expect((await removeMember(by, path, owner)).status).toBe(403);
    expect((await invite(by, "owner")).status).toBe(403);
    expect((await setRole(by, path, dev, "developer")).status).toBe(200);
    expect((await setRole(dev.client, path, dev, "admin")).status).toBe(403);
    expect((await invite(dev.client, "member")).status).toBe(403);
    expect((await dev.client.fetch(`${path}/invitations`)).status).toBe(403);
    const { items } = await dev.client.ok<Page<Member>>("GET", `${path}/members`);
    expect(items.map(({ role }) => role).sort()).toEqual(["admin", "developer", "owner"]);
    expect((await removeMember(dev.client, path, admin)).status).toBe(403);
    expect((await removeMember(dev.client, path, dev)).status).toBe(200);
    expect((await dev.client.fetch(path)).status).toBe(404);
  });

  test("the only owner can neither leave nor step down nor be deleted or suspended", async () => {
    const { owner, name, path, join } = await newOrganization();
    for (const refused of [
      await setRole(owner.client, path, owner, "admin"),
      await removeMember(owner.client, path, owner),
      await operator.json<{ detail: string }>(
        "PUT",
        `/v1/operator/users/${owner.username}/suspension`,
      ),
    ]) {
      expect(refused.status).toBe(409);
      expect(refused.body.detail).toContain(name);
    }
    // A suspended owner does not count.
    const second = await join("owner");
    const suspend = `/v1/operator/users/${second.username}/suspension`;
    await operator.ok("PUT", suspend);
    expect((await removeMember(owner.client, path, owner)).status).toBe(409);
    await operator.ok("DELETE", suspend);
    expect((await removeMember(owner.client, path, owner)).status).toBe(200);
    expect((await setRole(second.client, path, second, "member")).status).toBe(409);
  });

  test("an operator appoints an owner, who may be no member yet", async () => {
    const { name, path } = await newOrganization();
    const { client, username } = await newUser();
    await operator.ok("PUT", `/v1/operator/organizations/${name}/owners/${username}`);
    expect(await client.ok("GET", path)).toMatchObject({ role: "owner" });
  });

  test("suspending a person stops their tokens and cancels what they run for organizations", async () => {
    const world = await newWorld({ visibility: "public" });
    const { owner, join, tokenOf } = await newOrganization();
    const [ada, eve] = [await join("developer"), await join("developer")];
    const [hers, other] = [await tokenOf(ada.client), await tokenOf(eve.client)];
    const create = async (by: Client) =>
      (await by.create({ model: world.model, input: {} })).body.id;
    const [canceled, kept] = [await create(hers), await create(other)];
    await operator.ok("PUT", `/v1/operator/users/${ada.username}/suspension`);
    const service = await tokenOf(owner.client, { service_role: "developer" });
    await expect.poll(() => service.status(canceled)).toBe("canceled");
    expect(await service.status(kept)).toBe("pending");
    advance(STALE);
    expect((await hers.fetch("/v1/user")).status).toBe(401);
  });
});

describe("an invitation", () => {
  test("an invitation adds one person, who is added once", async () => {
    const { owner, invite, name } = await newOrganization();
    const [first, second] = [await newUser(), await newUser()];
    const { invitation, url, id } = (await invite(owner.client, "developer")).body;
    expect(url).toContain(invitation);
    const accept = ({ client }: { client: Client }, secret = invitation) =>
      client.json<Organization>("POST", "/v1/user/organizations", { invitation: secret });
    expect((await accept(first)).body).toMatchObject({ username: name, role: "developer" });
    expect((await accept(second)).status).toBe(404);
    const again = (await invite(owner.client, "owner")).body;
    // A member keeps their role and leaves the invitation to somebody else.
    expect((await accept(first, again.invitation)).status).toBe(409);
    expect((await accept(second, again.invitation)).body.role).toBe("owner");
    expect(id).not.toBe(again.id);
  });

  test("an invitation ends when it is revoked, expires, or its maker may no longer invite", async () => {
    const { owner, path, join, invite } = await newOrganization();
    const admin = await join("admin");
    const { client } = await newUser();
    const accept = async (invitation: string) =>
      (await client.json("POST", "/v1/user/organizations", { invitation })).status;
    const revoked = (await invite(owner.client, "member")).body;
    await owner.client.ok("DELETE", `${path}/invitations/${revoked.id}`);
    expect(await accept(revoked.invitation)).toBe(404);
    const hers = (await invite(admin.client, "admin")).body;
    expect(await owner.client.ok("GET", `${path}/invitations`)).toMatchObject([{ id: hers.id }]);
    await setRole(owner.client, path, admin, "developer");
    expect(await accept(hers.invitation)).toBe(404);
    await setRole(owner.client, path, admin, "admin");
    await removeMember(owner.client, path, admin);
    expect(await accept(hers.invitation)).toBe(404);
    const expired = (await invite(owner.client, "member")).body;
    advance(7 * 86_400 + 1);
    expect(await accept(expired.invitation)).toBe(404);
  });
});

describe("a token of an organization", () => {
  test("a token of a member has the role that its maker has at the time", async () => {
    const { owner, path, join, tokenOf } = await newOrganization();
    const person = await join("developer");
    const token = await tokenOf(person.client);
    const create = async () =>
      (await token.json("POST", "/v1/models", { name: unique("model") })).status;
    expect(await create()).toBe(200);
    await setRole(owner.client, path, person, "member");
    advance(STALE);
    expect(await create()).toBe(403);
    await removeMember(owner.client, path, person);
    advance(STALE);
    expect(await create()).toBe(401);
    // A person who joins again starts without the former tokens.
    const { invitation } = await owner.client.ok<{ invitation: string }>(
      "POST",
      `${path}/invitations`,
      { role: "developer" },
    );
    await person.client.ok("POST", "/v1/user/organizations", { invitation });
    expect(await create()).toBe(401);
  });

  test("a token has no scope, priority or lifetime that its maker's token lacks", async () => {
    const { owner, path } = await newOrganization();
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const later = new Date(Date.now() + 7_200_000).toISOString();
    const limits = { scopes: ["read", "write"], priority: "normal", expires_at };
    const weak = await newClient(owner.username, limits);
    const create = (body: object) =>
      weak.json<{ detail: string }>("POST", `${path}/tokens`, { name: "x", ...body });
    const fits = { scopes: ["read"], priority: "low", expires_at };
    expect((await create(fits)).status).toBe(200);
    for (const [more, words] of [
      [{ scopes: ["read", "predict"] }, "lacks the scope predict"],
      [{ priority: "high" }, "priority 'normal' at most"],
      [{ priority: null }, "priority 'normal' at most"],
      [{ expires_at: later }, "expires at"],
      [{ expires_at: null }, "expires at"],
    ] as const) {
      const refused = await create({ ...fits, ...more });
      expect(refused.status).toBe(403);
      expect(refused.body.detail).toContain(words);
    }
    const limited = await newClient(owner.username, { scopes: ["read"] });
    expect((await limited.json("POST", `${path}/tokens`, { name: "x" })).status).toBe(403);
  });

  test("admins create service tokens up to their role, which outlive them", async () => {
    const { owner, path, join, tokenOf } = await newOrganization();
    const [admin, dev] = [await join("admin"), await join("developer")];
    const create = async (by: Client, service_role: string | null) =>
      (await by.json("POST", `${path}/tokens`, { name: "CI", service_role })).status;
    expect(await create(dev.client, "member")).toBe(403);
    expect(await create(admin.client, "owner")).toBe(403);
    const service = await tokenOf(admin.client, { service_role: "admin" });
    expect(await create(service, "owner")).toBe(403);
    expect(await create(service, null)).toBe(403);
    expect(await create(service, "admin")).toBe(200);
    const reader = await tokenOf(admin.client, { service_role: "developer", scopes: ["read"] });
    const refused = await reader.json("POST", "/v1/models", { name: "story" });
    expect(refused).toMatchObject({
      status: 403,
      body: {
        detail:
          "This requires a token with the scope write. Create one on the organization's page Access tokens.",
      },
    });
    await removeMember(owner.client, path, admin);
    advance(STALE);
    expect((await service.fetch("/v1/user")).status).toBe(200);
  });

  test("admins list and revoke all tokens, and others their own", async () => {
    const { owner, path, join, tokenOf } = await newOrganization();
    const [dev, other] = [await join("developer"), await join("developer")];
    await tokenOf(owner.client, { service_role: "member", name: "CI" });
    const token = await tokenOf(dev.client, { name: "hers" });
    await tokenOf(other.client, { name: "others" });
    const list = async (by: Client) =>
      (await by.ok<Page<OrganizationToken>>("GET", `${path}/tokens`)).items;
    expect(await list(owner.client)).toMatchObject([
      { name: "others", made_by: other.username, service_role: null },
      { name: "hers", made_by: dev.username, service_role: null },
      { name: "CI", made_by: owner.username, service_role: "member" },
    ]);
    const [own, ...rest] = await list(dev.client);
    expect(own?.name).toBe("hers");
    expect(rest).toEqual([]);
    const revoke = async (by: Client) =>
      (await by.json("DELETE", `${path}/tokens/${own?.id}`)).status;
    expect(await revoke(other.client)).toBe(404);
    expect(await revoke(dev.client)).toBe(200);
    expect((await token.fetch("/v1/user")).status).toBe(401);
  });
});
