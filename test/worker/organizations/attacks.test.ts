/** Attacks on organizations by members, former members and people who are suspended. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Upload } from "../../../src/protocol/upload.ts";
import {
  insertOrganization,
  isOwnerless,
  removeMember,
  updateRole,
} from "../../../src/storage/accounts/organizations.ts";
import { run, services } from "../support/accounts.ts";
import { anEntry } from "../support/audit.ts";
import { Client } from "../support/client.ts";
import { beginUpload, putPart } from "../support/files.ts";
import { newOrganization, type Organization, setRole, setShare } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const pathOf = ({ username }: Organization) => `/v1/organizations/${username}`;
/** The isolate has the client's token in its cache. */
const warm = async (client: Client) => expect((await client.fetch("/v1/user")).status).toBe(200);
const service = { name: "backdoor", service_role: "member" };

describe("with a token that an isolate still has in its cache", () => {
  test("an admin who was demoted cannot promote themselves", async () => {
    const organization = await newOrganization();
    const person = await organization.join("admin");
    const { client, username } = person;
    await warm(client);
    await setRole(organization, person, "member");
    const path = `${pathOf(organization)}/members/${username}`;
    expect((await client.json("PUT", path, { role: "admin" })).status).toBe(403);
  });

  test("a developer who was demoted adds no webhook endpoint, which would receive everything", async () => {
    const organization = await newOrganization();
    const person = await organization.join("developer");
    await warm(person.client);
    await setRole(organization, person, "member");
    const body = { url: "https://example.com/", events: ["completed"] };
    expect((await person.client.json("POST", "/v1/webhook-endpoints", body)).status).toBe(403);
  });

  test("an admin who was removed creates no service token", async () => {
    const organization = await newOrganization();
    const person = await organization.join("admin");
    await warm(person.client);
    await setRole(organization, person, undefined);
    const creating = await person.client.json("POST", `${pathOf(organization)}/tokens`, service);
    expect(creating.status).toBe(401);
  });

  test("an owner who was demoted renames nothing", async () => {
    const organization = await newOrganization();
    const person = await organization.join("owner");
    await warm(person.client);
    await setRole(organization, person, "member");
    for (const changes of [{ username: unique("taken-over") }, { bio: "x" }])
      expect((await person.client.json("PATCH", "/v1/user", changes)).status).toBe(403);
  });

  test("an admin who is suspended creates no service token with their own token", async () => {
    const organization = await newOrganization();
    const { own, user_id } = await organization.join("admin");
    await warm(own);
    await run("UPDATE users SET suspended_at = 1 WHERE id = ?", user_id);
    const creating = await own.json("POST", `${pathOf(organization)}/tokens`, service);
    expect(creating.status).toBe(401);
  });
});

describe("a token that has less than its maker", () => {
  const LIMITS = [
    { scopes: ["read", "write"] },
    { priority: "low" },
    { expires_at: "2100-01-01T00:00:00Z" },
  ];

  test.each(LIMITS)(
    "an admin's token with %o brings nobody into the organization",
    async (limit) => {
      const organization = await newOrganization();
      const [admin, member] = [await organization.join("admin"), await organization.join("member")];
      const path = pathOf(organization);
      const { token } = await admin.client.ok<{ token: string }>("POST", `${path}/tokens`, {
        name: "limited",
        ...limit,
      });
      for (const by of [new Client(token), await newClient(admin.username, limit)]) {
        const statusOf = async (method: "POST" | "PUT" | "DELETE", at: string, body: object) =>
          (await by.json(method, at, body)).status;
        expect(await statusOf("POST", `${path}/invitations`, { role: "admin" })).toBe(403);
        const raised = `${path}/members/${member.username}`;
        expect(await statusOf("PUT", raised, { role: "admin" })).toBe(403);
        const creating = { username: unique("org") };
        expect(await statusOf("POST", "/v1/organizations", creating)).toBe(403);
        expect(await statusOf("POST", `${path}/tokens`, { name: "whole" })).toBe(403);
        const shared = `/v1/models/${organization.model}/collaborators/${admin.username}`;
        expect(await statusOf("PUT", shared, { level: "write" })).toBe(403);
        expect(await statusOf("POST", `${path}/tokens`, service)).toBe(403);
        expect(await statusOf("DELETE", raised, {})).toBe(200);
        await setRole(organization, member, "member");
      }
    },
  );

  test("an error says what the token lacks", async () => {
    const organization = await newOrganization();
    const { username } = await organization.join("admin");
    const by = await newClient(username, { scopes: ["write"] });
    const { body } = await by.json("POST", `${pathOf(organization)}/invitations`, {});
    expect(body).toMatchObject({
      detail:
        "This token cannot invite people: it lacks the scope read and lacks the scope predict. Use a token with the scopes read, write, predict, any priority, no expiry and no limits, or the dashboard.",
    });
  });
});

test("an invitation that a service token made adds a person until the token expires or is revoked", async () => {
  const organization = await newOrganization();
  const bot = await organization.service("admin");
  const invite = () =>
    bot.ok<{ invitation: string }>("POST", `${pathOf(organization)}/invitations`, {
      role: "member",
    });
  const [first, second, third] = [await invite(), await invite(), await invite()];
  const accept = async ({ invitation }: { invitation: string }) =>
    (await (await newUser()).client.json("POST", "/v1/user/organizations", { invitation })).status;
  expect(await accept(first)).toBe(200);
  await run("UPDATE tokens SET expires_at = 1 WHERE user_id = ?", organization.user_id);
  expect(await accept(second)).toBe(404);
  await run("DELETE FROM tokens WHERE user_id = ?", organization.user_id);
  expect(await accept(third)).toBe(404);
});

test("a token limited to a model does not list its person's organizations", async () => {
  const { join } = await newOrganization();
  const { username, own } = await join("member");
  await own.ok("POST", "/v1/models", { name: "story" });
  const limited = await newClient(username, { models: [`${username}/story`] });
  expect((await limited.fetch("/v1/organizations")).status).toBe(403);
  expect(await limited.ok("GET", "/v1/user")).toMatchObject({ username, organizations: [] });
});

test("an admin neither demotes nor removes a member who becomes an owner at the same time", async () => {
  const organization = await newOrganization();
  const [, member] = [await organization.join("owner"), await organization.join("owner")];
  const { db } = services;
  const ids = [organization.user_id, member.user_id] as const;
  expect(await updateRole(db, ...ids, "member", "admin", anEntry())).toBe(false);
  expect(await removeMember(db, ...ids, "admin", anEntry())).toBe(false);
  expect(await removeMember(db, ...ids, "owner", anEntry())).toBe(true);
});

test("part URLs of an upload end when the member who has them is suspended or removed", async () => {
  const organization = await newOrganization();
  const [ada, eve] = [await organization.join("member"), await organization.join("member")];
  const statusOf = async ({ urls }: Upload) => (await putPart(urls[0], "abc")).status;
  const uploads = [await beginUpload(ada.client, 3), await beginUpload(eve.client, 3)];
  await run("UPDATE users SET suspended_at = 1 WHERE id = ?", ada.user_id);
  await setRole(organization, eve, undefined);
  expect(await Promise.all(uploads.map(statusOf))).toEqual([403, 403]);
});

test("an export ends with a problem once the role of its reader is too low", async () => {
  startClock();
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  const organization = await newOrganization();
  const admin = await organization.join("admin");
  for (let n = 0; n < 9; n++) await organization.waiting();
  const reader = (await admin.client.fetch("/v1/user/export")).body?.getReader();
  let text = "";
  const read = async () => {
    const next = await reader?.read();
    text += new TextDecoder().decode(next?.value);
    return next?.done === false;
  };
  while (!text.includes('"type":"prediction"')) await read();
  await setRole(organization, admin, "developer");
  await vi.advanceTimersByTimeAsync(9_000);
  while (await read());
  const last = text.trim().split("\n").at(-1) ?? "";
  expect(JSON.parse(last)).toMatchObject({ type: "problem", problem: { status: 403 } });
});

test("an owner whose account was deleted meanwhile does not let the last owner leave", async () => {
  const organization = await newOrganization();
  const [owner, other] = [await organization.join("owner"), await organization.join("owner")];
  await run("UPDATE users SET deleted_at = 1 WHERE id = ?", other.user_id);
  const path = `${pathOf(organization)}/members/${owner.username}`;
  expect((await owner.own.json("DELETE", path)).status).toBe(409);
  expect((await owner.own.json("PUT", path, { role: "member" })).status).toBe(409);
});

test("the owner of a suspended organization can read and leave it, and neither change nor delete it", async () => {
  const organization = await newOrganization();
  const [owner, other] = [await organization.join("owner"), await organization.join("owner")];
  await operator.ok("PUT", `/v1/operator/users/${organization.username}/suspension`);
  advance(10.001);
  const path = pathOf(organization);
  expect((await owner.client.fetch(path)).status).toBe(401);
  expect((await owner.own.fetch(path)).status).toBe(200);
  for (const [method, body] of [
    ["PATCH", { username: unique("escaped") }],
    ["PATCH", { bio: "x" }],
    ["DELETE", undefined],
  ] as const)
    expect((await owner.own.json(method, path, body)).status).toBe(403);
  expect((await other.own.json("DELETE", `${path}/members/${other.username}`)).status).toBe(200);
});

test("members and guests neither see nor run the private models of a suspended organization", async () => {
  const organization = await newOrganization();
  const { model, username } = organization;
  const [member, guest] = [(await organization.join("member")).own, await newUser()];
  await setShare(model, guest, "write");
  const statuses = async () =>
    Promise.all(
      [member, guest.client].flatMap((by) => [
        by.fetch(`/v1/models/${model}`).then(({ status }) => status),
        by.post("/v1/predictions", { model, input: {} }).then(({ status }) => status),
      ]),
    );
  expect(await statuses()).toEqual([200, 202, 200, 202]);
  await operator.ok("PUT", `/v1/operator/users/${username}/suspension`);
  expect(await statuses()).toEqual([404, 404, 404, 404]);
  await operator.ok("DELETE", `/v1/operator/users/${username}/suspension`);
  expect(await statuses()).toEqual([200, 202, 200, 202]);
});

test.each(["suspended_at", "deleted_at"])(
  "an organization is not created for a user whose %s is set meanwhile",
  async (column) => {
    const { user_id } = await newUser();
    await run(`UPDATE users SET ${column} = 1 WHERE id = ?`, user_id);
    const username = unique("org");
    const row = { id: crypto.randomUUID(), username, name: "", avatar_url: "" };
    const creating = insertOrganization(
      services.db,
      { ...row, kind: "organization", created_by: user_id, created_at: 1, updated_at: 1 },
      user_id,
      3,
      anEntry(),
    );
    await expect(creating).rejects.toSatisfy(isOwnerless);
    expect(await run("SELECT id FROM users WHERE username = ?", username)).toEqual([]);
  },
);
