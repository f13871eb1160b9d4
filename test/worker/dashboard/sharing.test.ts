/** Sharing a model in the dashboard, without client code. */
import { expect, test } from "vitest";
import { publish } from "../support/catalogue.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { newOrganization } from "../support/organizations.ts";
import { textOf } from "../support/page-text.ts";
import { newUser } from "../support/world.ts";

async function newShared() {
  const [owner, friend] = [await newDashboardUser(), await newDashboardUser()];
  await owner.client.ok("POST", "/v1/models", { name: "story" });
  const at = `/models/${owner.username}/story`;
  const share = (level: string, account = friend.username) =>
    owner.visitor.send(`${at}/collaborators`, { account, level });
  return { owner, friend, at, share };
}

test("an owner shares a model, changes the level and ends the share on its settings page", async () => {
  const { owner, friend, at, share } = await newShared();
  const settings = async () => (await owner.visitor.look(`${at}/settings`)).html;
  expect(await settings()).not.toContain(friend.username);
  expect((await share("run")).location).toBe(`${at}/settings`);
  expect(await settings()).toContain(`Level of ${friend.username}`);
  expect((await friend.visitor.look(at)).status).toBe(200);
  const organization = await newOrganization();
  await share("write", organization.username);
  await share("write");
  expect((await settings()).match(/<option value="write" selected/g)).toHaveLength(2);
  const unknown = await share("run", "nobody-at-all");
  expect([unknown.status, unknown.html]).toEqual([
    404,
    expect.stringContaining("Check the username."),
  ]);
  await owner.visitor.send(`${at}/collaborators/${friend.username}/remove`);
  expect((await friend.visitor.look(at)).status).toBe(404);
});

test("a collaborator at run sees the model under Shared with you, and leaves it there", async () => {
  const { friend, at, share } = await newShared();
  const page = async () => (await friend.visitor.look("/models/shared")).html;
  expect(await page()).toContain("No shared models yet");
  await share("run");
  expect(await page()).toContain(`href="${at}"`);
  const { html } = await friend.visitor.look(at);
  expect(html).not.toContain(`${at}/settings`);
  expect(html).not.toContain(`${at}/variables`);
  expect((await friend.visitor.look(`${at}/settings`)).status).toBe(403);
  const left = await friend.visitor.send(`${at}/collaborators/${friend.username}/remove`);
  expect(left.location).toBe("/models/shared");
  expect((await friend.visitor.look(at)).status).toBe(404);
});

test("a collaborator at write edits texts and publishes in the dashboard, and shares and deletes nothing", async () => {
  const { owner, friend, at, share } = await newShared();
  await share("write");
  await publish(owner.client, at.slice("/models/".length));
  const { html } = await friend.visitor.look(`${at}/settings`);
  for (const field of ["description", "overview", "paper_url"])
    expect(html).toContain(`name="${field}"`);
  for (const field of ["visibility", "hardware_identifier", "typed_name", "account"])
    expect(html).not.toContain(`name="${field}"`);
  expect(html).not.toContain(`${at}/variables`);
  const edited = await friend.visitor.send(`${at}/settings`, { description: "Tells a story" });
  expect(edited.location).toBe(`${at}/settings`);
  const model = await owner.client.ok<{ description: string }>("GET", `/v1${at}`);
  expect(model.description).toBe("Tells a story");
  expect((await friend.visitor.look(`${at}/versions`)).html).toContain(`${at}/versions/new`);
  expect((await friend.visitor.look(`${at}/versions/new`)).status).toBe(200);
  const ways = `auspex publish --model ${at.slice("/models/".length)}`;
  expect(textOf((await friend.visitor.look(`${at}/publish`)).html)).toContain(ways);
  expect((await friend.visitor.send(`${at}/publish`)).html).toMatch(/aus_\w{40}/);
  const whole = { name: "story", visibility: "public", description: "x", overview: "" };
  expect((await friend.visitor.send(`${at}/settings`, whole)).status).toBe(403);
  const other = await newUser();
  const sharing = { account: other.username, level: "run" };
  expect((await friend.visitor.send(`${at}/collaborators`, sharing)).status).toBe(403);
  expect((await friend.visitor.send(`${at}/delete`, { typed_name: "story" })).status).toBe(403);
});
