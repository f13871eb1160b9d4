/** The log of users: how they come and go, and what operators do with their accounts. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { AuditEvent } from "../../../src/protocol/audit.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { giveUp, run } from "../support/accounts.ts";
import { actionsOf, entriesOf } from "../support/audit.ts";
import { newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { EXPORT, exported } from "../support/export.ts";
import { PASSWORD, Visitor } from "../support/visitor.ts";
import { createUser, newOperatorUser, newUser, operator, unique } from "../support/world.ts";

/** Entries that concern the deployment, newest first. */
const deploymentEntries = async (query: string) => {
  const path = `/v1/operator/audit_events?${query}`;
  return (await operator.ok<Page<AuditEvent>>("GET", path)).items;
};

describe("users", () => {
  test("an account that an operator creates", async () => {
    const { client, username, user_id } = await createUser();
    const [entry] = await entriesOf(client, "?action=user.created");
    expect(entry).toMatchObject({
      actor: { type: "operator_token", id: "", name: "OPERATOR_TOKEN" },
      targets: [{ type: "user", id: user_id, name: username }],
      changes: { before: { username: null }, after: { username } },
    });
    expect((await operator.post("/v1/operator/users", { username })).status).toBe(409);
    expect(await deploymentEntries(`action=user.created&target=${username}`)).toHaveLength(1);
  });

  test("a sign-up names the new user as the actor", async () => {
    const { client, username, user_id, email } = await newDashboardUser();
    const [entry] = await entriesOf(client, "?action=user.created");
    expect(entry).toMatchObject({ actor: { type: "user", id: user_id, name: username } });
    const again = { username: unique("ann"), name: "", email, password: PASSWORD };
    expect((await new Visitor().send("/sign-up", again)).status).toBe(422);
    expect(await deploymentEntries(`action=user.created&target=${again.username}`)).toEqual([]);
  });

  test("a login for a user who had none, and a recovery, name the invitation", async () => {
    const { visitor } = await newOperator();
    const { username, client } = await createUser();
    const invite = async () => {
      const { html } = await visitor.send(`/users/${username}/recovery`);
      return /#invitation=(\w+)/.exec(html)?.[1] ?? "";
    };
    const email = `${username}@example.com`;
    const [first, second] = [await invite(), await invite()];
    const fields = { username, name: "", email, password: PASSWORD };
    await new Visitor().send("/sign-up", { ...fields, invitation: first });
    expect(
      (await new Visitor().send("/sign-up", { ...fields, invitation: second })).status,
    ).not.toBe(303);
    const third = await invite();
    await new Visitor().send("/sign-up", { invitation: third, password: `${PASSWORD} 2` });
    const entries = await entriesOf(client);
    const named = entries.map(({ action, actor: { type } }) => [action, type]);
    expect(named.filter(([action]) => !action?.match(/^(user\.signed_in|token)/))).toEqual([
      ["user.recovered", "user"],
      ["user.viewed", "operator"],
      ["invitation.created", "operator"],
      ["password.updated", "user"],
      ["user.viewed", "operator"],
      ["invitation.created", "operator"],
      ["user.viewed", "operator"],
      ["invitation.created", "operator"],
      ["user.created", "operator_token"],
    ]);
    const text = JSON.stringify(entries);
    for (const secret of [first, second, third, PASSWORD]) expect(text).not.toContain(secret);
  });

  test("a suspension and its end are recorded when they change something", async () => {
    const [{ client: token }, { client, username }] = [await newOperatorUser(), await newUser()];
    const path = `/v1/operator/users/${username}/suspension`;
    for (let n = 0; n < 2; n++) await token.ok("PUT", `${path}?models=hide`);
    for (let n = 0; n < 2; n++) await token.ok("DELETE", path);
    const [restored, suspended, ...rest] = await entriesOf(client);
    expect([restored?.action, suspended?.action]).toEqual(["user.restored", "user.suspended"]);
    expect(suspended).toMatchObject({
      actor: { type: "operator" },
      changes: { before: { models: null }, after: { models: "hide" } },
    });
    expect(rest.map(({ action }) => action)).not.toContain("user.suspended");
  });

  test("a deletion is in the log that operators see", async () => {
    const { username, user_id } = await newUser();
    await giveUp({ user_id });
    const [entry] = await deploymentEntries(`account=${user_id}`);
    expect(entry).toMatchObject({ action: "user.deleted", targets: [{ name: username }] });
  });

  test("a released username is recorded for the account that held it", async () => {
    const { client, username } = await newUser();
    await client.ok("PATCH", "/v1/user", { username: unique("new") });
    const release = () => operator.json("DELETE", `/v1/operator/usernames/${username}`);
    expect((await release()).status).toBe(200);
    expect((await release()).status).toBe(404);
    const entries = await entriesOf(client, "?action=username.released");
    expect(entries).toMatchObject([{ targets: [{ type: "username", name: username }] }]);
  });
});

describe("operators", () => {
  test("an appointment and a demotion are recorded once each", async () => {
    const { username, user_id } = await newUser();
    const path = `/v1/operator/users/${username}/operator`;
    for (let n = 0; n < 2; n++) await operator.ok("PUT", path);
    await operator.ok("DELETE", path);
    expect((await operator.json("DELETE", path)).status).toBe(409);
    const entries = await deploymentEntries(`action=operator.*&target=${user_id}`);
    expect(entries.map(({ action, account_id }) => [action, account_id])).toEqual([
      ["operator.demoted", null],
      ["operator.appointed", null],
    ]);
  });

  test("a use of OPERATOR_TOKEN at /set-up is recorded, with what it does", async () => {
    const { user_id, username } = await newOperator();
    const [appointed] = await deploymentEntries(`action=operator.appointed&target=${user_id}`);
    expect(appointed).toMatchObject({
      actor: { type: "operator_token" },
      targets: [{ type: "user", id: user_id, name: username }],
    });
    const request = appointed?.context.request_id;
    const used = await deploymentEntries(`action=operator_token.used&target=${request}`);
    expect(used).toMatchObject([{ targets: [{ type: "request", name: "POST /set-up" }] }]);
  });

  test("the first operator signs up at /set-up", async () => {
    const username = unique("ann");
    const fields = { username, name: "", email: `${username}@a.test`, password: PASSWORD };
    const proof = { ...fields, operator_token: env.OPERATOR_TOKEN };
    expect((await new Visitor().send("/set-up", proof)).status).toBe(303);
    const entries = await deploymentEntries(`target=${username}`);
    expect(entries.map(({ action, actor: { type } }) => [action, type]).toSorted()).toEqual([
      ["operator.appointed", "operator_token"],
      ["user.created", "user"],
      ["user.signed_in", "user"],
    ]);
    const wrong = { ...fields, operator_token: "wrong" };
    expect((await new Visitor().send("/set-up", wrong)).status).toBe(401);
  });

  test("operators' invitations are recorded for the deployment", async () => {
    const { visitor, user_id } = await newOperator();
    const note = unique("note");
    const { html } = await visitor.send("/users/invitations", { note });
    const [, id] = /\/users\/invitations\/([\w-]+)\/withdraw/.exec(html) ?? [];
    await visitor.send(`/users/invitations/${id}/withdraw`);
    const entries = await deploymentEntries(`action=invitation.*&actor=${user_id}`);
    expect(entries.map(({ action, account_id, targets }) => [action, account_id, targets])).toEqual(
      [
        ["invitation.revoked", null, [{ type: "invitation", id, name: note }]],
        ["invitation.created", null, [{ type: "invitation", id, name: note }]],
      ],
    );
  });
});

describe("reads", () => {
  test("an operator's look at a person and their tokens is in the person's log", async () => {
    const [{ visitor }, { client, username }] = [await newOperator(), await newUser()];
    expect((await visitor.look(`/users/${username}`)).status).toBe(200);
    await operator.ok("GET", `/v1/operator/users/${username}/tokens`);
    const [tokens, page] = await entriesOf(client);
    expect(tokens).toMatchObject({
      action: "user.viewed",
      changes: { after: { viewed: "tokens" } },
    });
    expect(page).toMatchObject({
      action: "user.viewed",
      actor: { type: "operator" },
      changes: { after: { viewed: "page" } },
    });
    expect(page?.context.ip).toBeUndefined();
  });

  test("an export is recorded before it begins, over the API and in the dashboard", async () => {
    const { visitor, client } = await newDashboardUser();
    await exported(client);
    expect((await visitor.look("/account/export")).status).toBe(200);
    const actions = await actionsOf(client);
    expect(actions.slice(-2)).toEqual(["user.exported", "user.exported"]);
  });

  test("a read that cannot be recorded is refused", async () => {
    const [{ visitor }, { client, username }] = [await newOperator(), await newUser()];
    await run(
      "CREATE TRIGGER full BEFORE INSERT ON audit_entries WHEN new.action <> 'operator_token.used' BEGIN SELECT raise(ABORT, 'full'); END",
    );
    try {
      const statuses = [
        (await visitor.look(`/users/${username}`)).status,
        (await operator.fetch(`/v1/operator/users/${username}/tokens`)).status,
        (await client.fetch(EXPORT)).status,
      ];
      expect(statuses).toEqual([503, 503, 503]);
    } finally {
      await run("DROP TRIGGER full");
    }
  });
});
