/** More of the pages of organizations: their links, and refused forms. */
import { expect, test } from "vitest";
import { addressIn } from "../../../src/dashboard/addresses.ts";
import {
  copyVisitor,
  newDashboardOrganization,
  newDashboardUser,
} from "../support/dashboard-users.ts";
import { textOf } from "../support/page-text.ts";
import { MODEL, newEndedRun } from "../support/route-parameters.ts";

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
