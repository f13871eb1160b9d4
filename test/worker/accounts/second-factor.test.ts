/** Organizations that require a second factor of their members. */
import { expect, test } from "vitest";
import { findTokenById } from "../../../src/storage/accounts/tokens.ts";
import { run, services } from "../support/accounts.ts";
import { setUpApp } from "../support/authenticator.ts";
import type { Client, Refusal } from "../support/client.ts";
import { type DashboardUser, newDashboardUser } from "../support/dashboard-users.ts";
import { addPasskey, newOrganization, requireFactor, setRole } from "../support/organizations.ts";
import { unique } from "../support/world.ts";

const REFUSAL = /requires a second factor\. Add one at \/account\/security/;
const predictions = (client: Client) => client.json<Refusal>("GET", "/v1/predictions");

/** A user who owns an organization. */
async function newOwner(): Promise<{ owner: DashboardUser; organization: string }> {
  const owner = await newDashboardUser();
  const organization = unique("org");
  await owner.client.ok("POST", "/v1/organizations", { username: organization });
  return { owner, organization };
}

const idOf = async (username: string) => {
  const [row] = await run("SELECT id FROM users WHERE username = ?", username);
  return { user_id: String(row?.id) };
};

/** Makes it look as if the latest session of a user had begun so. */
const begin = ({ user_id }: DashboardUser, how: string) =>
  run("UPDATE sessions SET begun_with = ? WHERE user_id = ?", how, user_id);

test("an owner without a second factor cannot require one, and one with it can", async () => {
  const { owner, organization } = await newOwner();
  const path = `/v1/organizations/${organization}`;
  const change = (value: boolean) =>
    owner.client.json<Refusal>("PATCH", path, { requires_second_factor: value });
  const { status, body } = await change(true);
  expect(status).toBe(403);
  expect(body.detail).toContain("You need a second factor yourself");
  await addPasskey(owner);
  expect((await change(true)).body).toMatchObject({ requires_second_factor: true });
  expect((await change(false)).body).toMatchObject({ requires_second_factor: false });
});

test("a token of a member without the factor is refused with the way to one, and a service token works", async () => {
  const organization = await newOrganization();
  const [member, strong] = [await organization.join("owner"), await organization.join("member")];
  const service = await organization.service("developer");
  await addPasskey(strong);
  expect((await predictions(member.client)).status).toBe(200);
  await requireFactor(organization);
  const { status, body } = await predictions(member.client);
  expect(status).toBe(403);
  expect(body.detail).toMatch(REFUSAL);
  for (const client of [strong.client, service])
    expect((await predictions(client)).status).toBe(200);
});

test("a member without the factor neither acts for the organization with their own token nor sees its private models", async () => {
  const organization = await newOrganization();
  const member = await organization.join("admin");
  const path = `/v1/organizations/${organization.username}`;
  const model = `/v1/models/${organization.model}`;
  expect((await member.own.json("GET", model)).status).toBe(200);
  await requireFactor(organization);
  const { status, body } = await member.own.json<Refusal>("GET", path);
  expect(status).toBe(403);
  expect(body.detail).toMatch(REFUSAL);
  expect((await member.own.json("GET", model)).status).toBe(404);
  expect((await predictions(member.own)).status).toBe(200);
  await addPasskey(member);
  expect((await member.own.json("GET", path)).status).toBe(200);
  expect((await member.own.json("GET", model)).status).toBe(200);
});

test("a stream of a member's token ends once the organization requires a factor that they lack", async () => {
  const organization = await newOrganization();
  const member = await organization.join("developer");
  const [row] = await run("SELECT id FROM tokens WHERE made_by = ?", member.user_id);
  const find = () => findTokenById(services.db, String(row?.id));
  expect(await find()).toMatchObject({ role: "developer" });
  await requireFactor(organization);
  expect(await find()).toBeUndefined();
});

test.each([
  ["password", 403],
  ["github", 403],
  ["totp", 200],
  ["passkey", 200],
  ["oidc", 200],
])("a session that began with %s opens the organization's pages with %s", async (how, status) => {
  const { owner, organization } = await newOwner();
  const account = await idOf(organization);
  await requireFactor(account);
  await begin(owner, how);
  for (const page of ["", "/members", "/settings", "/predictions", "/tokens"]) {
    const { status: found, html } = await owner.visitor.look(
      `/organizations/${organization}${page}`,
    );
    expect([page, found]).toEqual([page, status]);
    if (status === 403) expect(html).toMatch(REFUSAL);
  }
  // A person's own pages stay open.
  expect((await owner.visitor.look("/tokens")).status).toBe(200);
});

test("a member who sets an authenticator app up gets in with the same session and their tokens", async () => {
  const { organization } = await newOwner();
  const member = await newDashboardUser();
  const account = await idOf(organization);
  await setRole(account, member, "developer");
  await member.visitor.look("/");
  const token = { name: "x" };
  const path = `/v1/organizations/${organization}/tokens`;
  await member.client.ok("POST", path, token);
  await requireFactor(account);
  const page = `/organizations/${organization}`;
  expect((await member.visitor.look(page)).status).toBe(403);
  expect((await member.client.json("POST", path, token)).status).toBe(403);
  await setUpApp(member.visitor);
  expect((await member.visitor.look(page)).status).toBe(200);
  expect((await member.client.json("POST", path, token)).status).toBe(200);
});

test("the settings of an organization turn the requirement on and off", async () => {
  const { owner, organization } = await newOwner();
  const settings = `/organizations/${organization}/settings`;
  const send = (required: string) =>
    owner.visitor.send(`/organizations/${organization}/second-factor`, { required });
  expect((await owner.visitor.look(settings)).html).toContain("Require it");
  expect((await send("yes")).status).toBe(403);
  await setUpApp(owner.visitor);
  expect((await send("yes")).location).toBe(settings);
  expect((await owner.visitor.look(settings)).html).toContain("Stop requiring it");
  expect((await send("no")).location).toBe(settings);
});
