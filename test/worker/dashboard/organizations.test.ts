/** The pages of organizations, as their people use them. */
import { expect, test } from "vitest";
import { addressIn } from "../../../src/dashboard/addresses.ts";
import { ORIGIN } from "../support/client.ts";
import {
  copyVisitor,
  newDashboardOrganization,
  newDashboardUser,
} from "../support/dashboard-users.ts";
import { textOf } from "../support/page-text.ts";
import { MODEL, newEndedRun, newShownVersion } from "../support/route-parameters.ts";
import { addUsage } from "../support/usage.ts";
import { unique } from "../support/world.ts";

test("a person creates an organization, invites another, and both see it", async () => {
  const [ada, grace] = [await newDashboardUser(), await newDashboardUser()];
  const username = unique("org");
  const path = `/organizations/${username}`;
  await ada.visitor.look("/organizations");
  const created = await ada.visitor.send("/organizations", { username, name: "Acme" });
  expect(created.headers.get("location")).toBe(path);
  await ada.visitor.look(`${path}/members`);
  const invited = await ada.visitor.send(`${path}/invitations`, {
    role: "developer",
    note: "Grace",
  });
  const [link = ""] = /\/join\/ausi_\w+/.exec(invited.html) ?? [];
  expect(textOf((await grace.visitor.look(link)).html)).toContain(`Join ${username}`);
  const joined = await grace.visitor.send(link, {});
  expect(joined.headers.get("location")).toBe(path);
  const hers = textOf((await grace.visitor.look(`${path}/members`)).html);
  expect(hers).toContain("Your role: developer");
  expect(hers).not.toContain("Create invitation link");
  const made = await grace.visitor.send(`${path}/tokens`, {
    ...{ name: "laptop", scopes: "read", expires: "7", models_for: "all", priority: "" },
  });
  expect(made.html).toMatch(/aus_\w{40}/);
  expect((await grace.visitor.look(link)).status).toBe(404);
});

test("a refused form of an organization keeps what was typed, with its error", async () => {
  const { visitor } = await newDashboardUser();
  await visitor.look("/organizations");
  const { status, html } = await visitor.send("/organizations", {
    username: "A B",
    name: "Acme",
  });
  expect(status).toBe(422);
  expect(html).toContain('value="Acme"');
  expect(html).toContain('id="username-error"');
});

/** Links of a page outside its header. */
const linksOf = (html: string) =>
  [...html.slice(html.indexOf("<main")).matchAll(/ (?:href|action)="([^"]*)"/g)].map(
    ([, address = ""]) => address,
  );

test("pages of an organization link to its own pages, and the menu to the same page of one's own", async () => {
  const { account, visitors } = await newDashboardOrganization();
  const { prediction_id } = await newEndedRun(account);
  const run = `/predictions/${prediction_id}`;
  const pages = [
    ...["/predictions", run, "/account/usage", "/account/webhooks", "/account/images", "/tokens"],
    ...["/account", "/account/shares", "/account/data", "/account/delete", "/models/new"],
    ...["/models/publish", `/models/${account.username}`, "/models", "/find"],
  ];
  for (const page of pages) {
    const { status, html } = await visitors.owner.look(page);
    expect([page, status]).toEqual([page, 200]);
    const left = linksOf(html).filter((link) => addressIn("/x", link) !== link);
    expect([page, left]).toEqual([page, []]);
    expect(html).toContain(`· ${account.username} · Auspex</title>`);
  }
  const usage = await visitors.owner.look("/account/usage");
  expect(usage.html).toContain('<a href="/account/usage" data-own');
  const own = copyVisitor(visitors.owner, undefined, "");
  const { html } = await own.look("/account/usage?days=90");
  expect(html).toContain(`<a href="/organizations/${account.username}/usage" data-own`);
});

test("the account that is chosen in the form runs the model, and its page says who did", async () => {
  const { account, visitors } = await newDashboardOrganization();
  const own = copyVisitor(visitors.owner, undefined, "");
  const { owner, name } = await newShownVersion(await newDashboardUser());
  const page = `/models/${owner}/${name}`;
  const form = { version: "1", input: "{}", "run-as": account.username };
  expect(textOf((await own.look(page)).html)).toContain("Run as");
  const sentOn = await own.send(page, form);
  const elsewhere = `/organizations/${account.username}${page}`;
  expect([sentOn.status, sentOn.location]).toEqual([307, `${ORIGIN}${elsewhere}`]);
  const { status, location = "" } = await own.send(elsewhere, form);
  expect([status, location]).toEqual([303, expect.stringContaining(`${elsewhere}?prediction=`)]);
  const id = location.split("=")[1];
  const run = textOf((await visitors.developer.look(`/predictions/${id}`)).html);
  expect(run).toMatch(new RegExp(`from the dashboard by [\\w-]+ for ${account.username}`));
  expect((await visitors.member.look(`/predictions/${id}`)).status).toBe(404);
  expect((await visitors.member.look("/predictions")).html).not.toContain(id);
  expect((await own.look("/predictions")).html).not.toContain(id);
  expect((await own.look(`${page}?run-as=nobody`)).status).toBe(404);
});

test("a developer creates a model for the organization", async () => {
  const { account, visitors } = await newDashboardOrganization();
  const { location } = await visitors.developer.send("/models/new", { ...MODEL, name: "story" });
  const page = `/organizations/${account.username}/models/${account.username}/story`;
  expect(location).toBe(page);
  expect((await visitors.developer.look(`${page}/settings`)).status).toBe(200);
  const { html } = await visitors.member.look(page);
  expect(html).not.toContain(`${page}/settings`);
  const own = copyVisitor(visitors.developer, undefined, "");
  const opened = await own.look(`/models/${account.username}/story`);
  expect(opened.html).toContain(`<a href="${page}">Open as ${account.username}</a>`);
});

test("a change that would leave no owner is explained on the page of the members", async () => {
  const { account, visitors } = await newDashboardOrganization();
  const members = `/organizations/${account.username}/members`;
  const { html } = await visitors.owner.look(members);
  const [, self = ""] = /data-user="([\w-]+)"/.exec(html) ?? [];
  const { status, html: refused } = await visitors.owner.send(`${members}/${self}`, {
    role: "admin",
  });
  expect(status).toBe(409);
  expect(textOf(refused)).toContain(
    "Make another member an owner first, or delete the organization.",
  );
  const deletion = `/organizations/${account.username}/delete`;
  const admin = textOf((await visitors.admin.look(deletion)).html);
  expect(admin).toContain("Not allowed");
  expect(admin).toContain(
    "You need the role owner for the deletion of the organization, and yours is admin. Ask an owner",
  );
  expect(textOf((await visitors.owner.look(`${members}?q=${self}`)).html)).toContain(self);
  expect(textOf((await visitors.owner.look(`${members}?q=no-such`)).html)).toContain(
    "No members found",
  );
});

test("an owner renames the organization, and its pages move", async () => {
  const { account, visitors } = await newDashboardOrganization();
  const username = unique("renamed");
  const profile = { name: "Acme", location: "", company: "", bio: "", urls: "" };
  const refused = await visitors.admin.send("/account", { ...profile, username });
  expect(refused.status).toBe(403);
  expect((await visitors.admin.send("/account", profile)).status).toBe(303);
  const { location } = await visitors.owner.send("/account", { ...profile, username });
  expect(location).toBe(`/organizations/${username}/settings`);
  expect((await visitors.owner.look(`/organizations/${account.username}`)).status).toBe(404);
  expect((await visitors.owner.look(`/organizations/${username}`)).status).toBe(200);
});

test("a member sees their own usage of the organization, as page and CSV, and a developer that of all", async () => {
  const { account, visitors } = await newDashboardOrganization();
  const [, ada = ""] =
    /data-user="([^"]+)"/.exec((await visitors.member.look("/tokens")).html) ?? [];
  const { id } = await account.client.ok<{ id: string }>("GET", `/v1/users/${ada}`);
  const day = new Date().toISOString().slice(0, 10);
  await addUsage(account.user_id, day, {
    maker: id,
    member: ada,
    model: "ada/mine",
    predictions: 3,
  });
  await addUsage(account.user_id, day, {
    ...{ maker: "m", member: "grace" },
    model_id: "n",
    model: "ada/hers",
  });
  const page = (await visitors.member.look("/account/usage?by=member")).html;
  expect(page).toContain("ada/<wbr/>mine");
  for (const hidden of ["hers", "grace", "Storage"]) expect(page).not.toContain(hidden);
  const csv = await (await visitors.member.fetch("/account/usage.csv", {})).text();
  expect(csv).toContain("ada/mine");
  expect(csv).not.toContain("ada/hers");
  expect((await visitors.developer.look("/account/usage?by=member")).html).toContain("grace");
});
