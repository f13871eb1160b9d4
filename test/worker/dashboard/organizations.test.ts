/** The pages of organizations, as their people use them. */
import { expect, test } from "vitest";
import { ORIGIN } from "../support/client.ts";
import {
  copyVisitor,
  newDashboardOrganization,
  newDashboardUser,
} from "../support/dashboard-users.ts";
import { textOf } from "../support/page-text.ts";
import { newShownVersion } from "../support/route-parameters.ts";
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
