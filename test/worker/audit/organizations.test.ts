/** The log of an organization: its members and invitations. */
import { describe, expect, test } from "vitest";
import { forgetTokens } from "../../../src/services/access/authentication.ts";
import { giveUp, run } from "../support/accounts.ts";
import { actionsOf, entriesOf } from "../support/audit.ts";
import { Client } from "../support/client.ts";
import { newOrganization, setRole } from "../support/organizations.ts";
import { newUser, operator, unique } from "../support/world.ts";

interface Invitation {
  id: string;
  invitation: string;
}

/** An organization that its owner has created over the API. */
async function newCompany() {
  const owner = await newUser();
  const username = unique("org");
  const path = `/v1/organizations/${username}`;
  const { id } = await owner.client.ok<{ id: string }>("POST", "/v1/organizations", { username });
  const token = { name: "reader", service_role: "owner" };
  const made = await owner.client.ok<{ token: string }>("POST", `${path}/tokens`, token);
  const invite = (role: string) =>
    owner.client.ok<Invitation>("POST", `${path}/invitations`, { role, note: "for Bob" });
  const join = async (role: string) => {
    const person = await newUser();
    const { invitation } = await invite(role);
    await person.client.ok("POST", "/v1/user/organizations", { invitation });
    return person;
  };
  return { id, username, path, owner, client: new Client(made.token), invite, join };
}

describe("an organization's log", () => {
  test("its creation names the owner", async () => {
    const { id, username, owner, client } = await newCompany();
    const [entry] = await entriesOf(client, "?action=organization.created");
    expect(entry).toMatchObject({
      account_id: id,
      actor: { type: "user", id: owner.user_id, name: owner.username },
      targets: [
        { type: "organization", id, name: username },
        { type: "user", id: owner.user_id, name: owner.username },
      ],
      changes: { after: { username, owner: owner.username } },
    });
  });

  test("a creation that fails is not recorded", async () => {
    const { username, owner } = await newCompany();
    expect((await owner.client.post("/v1/organizations", { username })).status).toBe(409);
    const rows = await run(
      "SELECT id FROM audit_entries WHERE action = 'organization.created' AND targets LIKE ?",
      `%${username}%`,
    );
    expect(rows).toHaveLength(1);
  });

  test("it says who invited, joined, was promoted and was removed", async () => {
    const { path, owner, client, join } = await newCompany();
    const bob = await join("member");
    await owner.client.ok("PUT", `${path}/members/${bob.username}`, { role: "admin" });
    await owner.client.ok("PUT", `${path}/members/${bob.username}`, { role: "admin" });
    await owner.client.ok("DELETE", `${path}/members/${bob.username}`);
    const [removed, updated, added, invited] = await entriesOf(client);
    const target = { type: "user", id: bob.user_id, name: bob.username };
    const actor = { id: owner.user_id };
    expect(removed).toMatchObject({
      action: "member.removed",
      actor,
      targets: [target],
      changes: { before: { role: "admin" }, after: { role: null } },
    });
    expect(updated).toMatchObject({
      action: "member.updated",
      actor,
      targets: [target],
      changes: { before: { role: "member" }, after: { role: "admin" } },
    });
    expect(added).toMatchObject({
      action: "member.added",
      actor: { type: "user", id: bob.user_id, name: bob.username },
      targets: [target],
      changes: { before: { role: null }, after: { role: "member" } },
    });
    expect(invited).toMatchObject({
      action: "invitation.created",
      actor,
      targets: [{ type: "invitation", name: "for Bob" }],
      changes: { after: { role: "member" } },
    });
  });

  test("a member who leaves is the actor", async () => {
    const { path, client, join } = await newCompany();
    const bob = await join("developer");
    await bob.client.ok("DELETE", `${path}/members/${bob.username}`);
    const [entry] = await entriesOf(client);
    expect(entry).toMatchObject({ action: "member.removed", actor: { id: bob.user_id } });
  });

  test("a withdrawn invitation is recorded once", async () => {
    const { path, owner, client, invite } = await newCompany();
    const { id, invitation } = await invite("member");
    const withdraw = () => owner.client.fetch(`${path}/invitations/${id}`, { method: "DELETE" });
    const statuses = (await Promise.all([withdraw(), withdraw()])).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, 404]);
    const [revoked, created] = await entriesOf(client);
    expect([revoked?.action, created?.action]).toEqual([
      "invitation.revoked",
      "invitation.created",
    ]);
    expect(revoked?.targets).toEqual([{ type: "invitation", id, name: "for Bob" }]);
    expect(JSON.stringify(await entriesOf(client))).not.toContain(invitation);
  });

  test("nothing is recorded when the last owner cannot leave, or a member tries to promote", async () => {
    const { path, owner, client, join } = await newCompany();
    const bob = await join("member");
    const before = await actionsOf(client);
    const own = `${path}/members/${owner.username}`;
    const put = (by: Client, to: string) => by.json("PUT", to, { role: "admin" });
    const answers = [
      await put(owner.client, own),
      await put(bob.client, `${path}/members/${bob.username}`),
      await owner.client.json("DELETE", own),
    ];
    expect(answers.map(({ status }) => status)).toEqual([409, 403, 409]);
    expect(await actionsOf(client)).toEqual(before);
  });

  test("an operator gives ownership: to somebody new, to a member, and to an owner already", async () => {
    const { username, client, join } = await newCompany();
    const [ada, bob] = [await newUser(), await join("member")];
    for (const person of [ada, bob, bob])
      await operator.ok("PUT", `/v1/operator/organizations/${username}/owners/${person.username}`);
    const entries = (await entriesOf(client)).filter(({ actor }) => actor.type !== "user");
    expect(entries.map(({ action, changes }) => [action, changes?.before])).toEqual([
      ["member.updated", { role: "member" }],
      ["member.added", { role: null }],
    ]);
    expect(entries[0]?.context.ip).toBeUndefined();
  });

  test("a person who deletes their account leaves each organization on record", async () => {
    const [one, two] = [await newOrganization(), await newOrganization()];
    const eve = await one.join("developer");
    await setRole(two, eve, "admin");
    await giveUp(eve);
    for (const [organization, role] of [
      [one, "developer"],
      [two, "admin"],
    ] as const) {
      const [entry] = await entriesOf(organization.client);
      expect(entry).toMatchObject({
        action: "member.removed",
        account_id: organization.user_id,
        targets: [{ type: "user", id: eve.user_id, name: eve.username }],
        changes: { before: { role }, after: { role: null } },
      });
    }
    const path = `/v1/operator/audit_events?account=${eve.user_id}&action=user.deleted`;
    expect(await operator.ok("GET", path)).toMatchObject({
      items: [{ targets: [{ name: eve.username }] }],
    });
  });

  test("a deletion at the same time as another is recorded once", async () => {
    const { id, path, owner, client } = await newCompany();
    const remove = () => owner.client.fetch(path, { method: "DELETE" });
    await Promise.all([remove(), remove()]);
    forgetTokens();
    expect((await client.fetch("/v1/user")).status).toBe(401);
    const rows = await run(
      "SELECT action FROM audit_entries WHERE account_id = ? AND action LIKE '%.deleted'",
      id,
    );
    expect(rows).toEqual([{ action: "organization.deleted" }]);
  });
});
