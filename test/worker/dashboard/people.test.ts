/** Users of a deployment, as its operators see them. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { run } from "../support/accounts.ts";
import { type DashboardUser, newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { textOf } from "../support/page-text.ts";
import { PASSWORD, Visitor } from "../support/visitor.ts";
import { newWorld, unique } from "../support/world.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const rowOf = (html: string, username: string) =>
  new RegExp(`<tr><th scope="row"><a href="/users/${username}">.*?</tr>`, "s").exec(html)?.[0];

const rename = (person: DashboardUser, name: string) =>
  person.client.ok("PATCH", "/v1/user", { name });

describe("the list of users", () => {
  it("the list has all users, with what they have and when they were last seen", async () => {
    const { visitor } = await newOperator();
    const person = await newDashboardUser();
    await person.client.ok("POST", "/v1/models", { name: "poet" });
    await rename(person, "\u202eadA <b>");
    const at = Date.parse("2036-01-02T03:04:05Z");
    await run("UPDATE tokens SET last_used_at = ? WHERE user_id = ?", at, person.user_id);
    const { html } = await visitor.look("/users");
    const row = rowOf(html, person.username) ?? expect.fail(html);
    expect(row).toContain("<bdi>\u202eadA &lt;b&gt;</bdi>");
    expect(row).toContain('data-label="Models">1<');
    expect(row).toContain("2036-01-02 03:04 UTC");
    expect(row).not.toContain("operator");
  });
});

describe("the page of a user", () => {
  it("a user's page shows what they have, and no contents", async () => {
    const { visitor } = await newOperator();
    const world = await newWorld();
    const secret = unique("secret");
    await world.client.ok("PUT", `/v1/models/${world.model}/variables/KEY`, { value: secret });
    const { body } = await world.client.create({ model: world.model, input: { text: secret } });
    const { html } = await visitor.look(`/users/${world.username}`);
    expect(html).toContain(`/look-up?id=${body.id}&amp;user=${world.username}`);
    expect(html).toContain(world.model.split("/")[1]);
    expect(html).not.toContain(secret);
    const [token] = await run("SELECT prefix, hash FROM tokens WHERE user_id = ?", world.user_id);
    expect(html).toContain(String(token?.prefix));
    expect(html).not.toContain(String(token?.hash));
  });

  it("a page shows storage in a section of its own: it is not usage of the last 30 days", async () => {
    const { visitor, username } = await newOperator();
    for (const page of [`/users/${username}`, "/account/usage"]) {
      const { html } = await visitor.look(page);
      const [, storage = ""] =
        /<section aria-labelledby="storage-title">(.*?)<\/section>/s.exec(html) ?? [];
      expect(textOf(storage)).toMatch(
        /^ Storage Files 0 bytes of .* Images 0 bytes of .* Database [1-9]/,
      );
      const [, usage = ""] =
        /<section aria-labelledby="usage-title">(.*?)<\/section>/s.exec(html) ?? [];
      expect(textOf(usage)).not.toContain("Database");
    }
  });

  it("an operator makes a link with which a user chooses a new password, shown once", async () => {
    const operator = await newOperator();
    const { username, email } = await newDashboardUser();
    const { html } = await operator.visitor.send(`/users/${username}/recovery`);
    const [, invitation = ""] = /#invitation=(ausi_\w+)<\/code>/.exec(html) ?? [];
    expect((await operator.visitor.look(`/users/${username}`)).html).not.toContain(invitation);
    const password = "another long password";
    expect((await new Visitor().send("/sign-up", { invitation, password })).status).toBe(303);
    const old = await new Visitor().send("/sign-in", { email, password: PASSWORD });
    expect(old.status).toBe(403);
  });

  it("an operator revokes a token of this user only", async () => {
    const { visitor } = await newOperator();
    const [person, other] = [await newDashboardUser(), await newDashboardUser()];
    const [token] = await run("SELECT id FROM tokens WHERE user_id = ?", person.user_id);
    const revoke = (username: string) =>
      visitor.send(`/users/${username}/tokens/${token?.id}/revoke`);
    expect((await revoke(other.username)).status).toBe(404);
    expect((await revoke(person.username)).location).toBe(`/users/${person.username}`);
    expect((await person.client.json("GET", "/v1/user")).status).toBe(401);
  });

  it("an operator releases a former username of this user only", async () => {
    const { visitor } = await newOperator();
    const [person, other] = [await newDashboardUser(), await newDashboardUser()];
    const username = unique("renamed");
    await person.client.ok("PATCH", "/v1/user", { username });
    const release = (name: string, former: string) =>
      visitor.send(`/users/${name}/usernames/${former}/release`);
    expect((await release(other.username, person.username)).status).toBe(404);
    expect((await release(username, other.username)).status).toBe(404);
    expect((await release(username, person.username)).location).toBe(`/users/${username}`);
    await other.client.ok("PATCH", "/v1/user", { username: person.username });
  });

  it("an operator cannot suspend their own account", async () => {
    const { visitor, username } = await newOperator();
    const { html } = await visitor.look(`/users/${username}`);
    expect(html).toContain("You cannot suspend your own account.");
    expect(html).not.toContain(`action="/users/${username}/suspend"`);
  });
});

describe("a look-up", () => {
  it("a look-up finds a prediction by its username and ID, without input and output", async () => {
    const { visitor } = await newOperator();
    const world = await newWorld();
    const secret = unique("secret");
    const { body } = await world.client.create({ model: world.model, input: { text: secret } });
    const { status, html } = await visitor.look(`/look-up?id=${body.id}&user=${world.username}`);
    expect(status).toBe(200);
    expect(html).toContain(`<a href="/users/${world.username}">`);
    expect(html).toContain(world.model);
    expect(html).not.toContain(secret);
  });

  it("a look-up shows that an ID is malformed, or that nobody has it", async () => {
    const { visitor } = await newOperator();
    const { username } = await newDashboardUser();
    const wrong = await visitor.look("/look-up?id=%3Cb%3E");
    expect([wrong.status, wrong.html]).toEqual([
      400,
      expect.stringContaining("Enter a valid prediction ID"),
    ]);
    expect((await visitor.look(`/look-up?id=%3Cb%3E&user=${username}`)).status).toBe(400);
    const id = "01900000-0000-7000-8000-000000000000";
    const missing = await visitor.look(`/look-up?id=${id}&user=${username}`);
    expect([missing.status, missing.html]).toEqual([404, expect.stringContaining("was not found")]);
    expect((await visitor.look("/look-up?id=01ffffff-0000-7000-8000-000000000000")).html).toMatch(
      /Prediction not found|Not found yet/,
    );
  });
});
