/** Pages of budgets: of an account, a token, a member, and of any account for operators. */
import { expect, it } from "vitest";
import { listBudgets, newBudget } from "../support/budgets.ts";
import {
  newDashboardOrganization,
  newDashboardUser,
  newOperator,
} from "../support/dashboard-users.ts";
import { newestId } from "../support/route-parameters.ts";

const FORM = { limit: "20", window: "month", kind: "hard", alert_at: "90" };

it("a budget is created, shown with its bar, changed and deleted on pages", async () => {
  const { visitor, client } = await newDashboardUser();
  const made = await visitor.send("/account/budgets", FORM);
  expect([made.status, made.location]).toEqual([303, "/account/usage#budgets"]);
  const [budget] = await listBudgets(client);
  expect(budget).toMatchObject({ limit: "20", window: "month", kind: "hard", alert_at: 0.9 });
  const page = `/account/budgets/${budget?.id}`;
  const usage = await visitor.look("/account/usage");
  expect(usage.html).toContain('aria-label="0 % spent, 0 % reserved"');
  expect(usage.html).toContain(`href="${page}"`);
  await visitor.send(page, { limit: "30.5", kind: "alert", alert_at: "50" });
  const changed = { limit: "30.5", window: "month", kind: "alert", alert_at: 0.5 };
  expect(await listBudgets(client)).toMatchObject([changed]);
  expect((await visitor.look(page)).html).toContain("alert only");
  await visitor.send(`${page}/delete`);
  expect(await listBudgets(client)).toEqual([]);
  expect((await visitor.look(page)).status).toBe(404);
});

it("a form with a mistake is shown again with what is wrong, and for whom the budget is", async () => {
  const { visitor } = await newDashboardUser();
  await visitor.send("/tokens", { name: "CI", scopes: "read", expires: "7", models_for: "all" });
  const { id: token_id = "" } = await newestId("tokens");
  const refused = await visitor.send("/account/budgets", { ...FORM, limit: "much", token_id });
  expect(refused.status).toBe(422);
  expect(refused.html).toContain("An amount has at most 9 decimal places");
  expect(refused.html).toContain(`name="token_id" value="${token_id}"`);
  const late = await visitor.send("/account/budgets", { ...FORM, alert_at: "101" });
  expect([late.status, late.html.includes('id="alert_at-error"')]).toEqual([422, true]);
});

it("the pages of a token show its budget, and have a form for one", async () => {
  const { visitor, client } = await newDashboardUser();
  await visitor.send("/tokens", { name: "CI", scopes: "read", expires: "7", models_for: "all" });
  const { id: token_id = "" } = await newestId("tokens");
  const form = (await visitor.look(`/tokens/${token_id}`)).html;
  expect(form).toContain(`name="token_id" value="${token_id}"`);
  const made = await visitor.send("/account/budgets", { ...FORM, token_id });
  expect(made.location).toBe("/tokens");
  const [budget] = await listBudgets(client);
  expect(budget).toMatchObject({ scope: "token", token_id });
  for (const path of ["/tokens", `/tokens/${token_id}`])
    expect((await visitor.look(path)).html).toContain(`href="/account/budgets/${budget?.id}"`);
  expect((await visitor.look("/account/usage")).html).toContain("<bdi>Access token CI</bdi>");
  await visitor.send(`/tokens/${token_id}/revoke`);
  expect((await visitor.look("/account/usage")).html).not.toContain("Access token CI");
});

it("members see their own budget and that of the account, and change only what is theirs", async () => {
  const { account, visitors } = await newDashboardOrganization();
  const { client, username } = account;
  const ofAccount = await newBudget(client, { limit: "7" });
  const own = await visitors.member.send("/account/budgets", FORM);
  expect(own.location).toBe(`/organizations/${username}/members`);
  const [, mine] = await listBudgets(client);
  expect(mine).toMatchObject({ scope: "member", set_by: "member" });
  const members = (await visitors.member.look(`/organizations/${username}/members`)).html;
  expect(members).toContain(`href="/organizations/${username}/budgets/${mine?.id}"`);
  const page = await visitors.member.look(`/account/budgets/${ofAccount.id}`);
  expect(page.html).toContain("Only an owner or admin can change it.");
  expect((await visitors.developer.look(`/account/budgets/${mine?.id}`)).status).toBe(404);
  // An admin's limit binds the member.
  await visitors.admin.send(`/account/budgets`, { ...FORM, member: mine?.member ?? "" });
  const [, , set] = await listBudgets(client);
  expect(set).toMatchObject({ member: mine?.member, set_by: "admin" });
  const refused = await visitors.member.send(`/account/budgets/${set?.id}/delete`);
  expect(refused.status).toBe(403);
});

it("an operator sets a budget on the page of an account, whose owner cannot change it", async () => {
  const { visitor } = await newOperator();
  const { username, client, visitor: owner } = await newDashboardUser();
  const made = await visitor.send(`/users/${username}/budgets`, FORM);
  expect(made.location).toBe(`/users/${username}#budgets`);
  const [budget] = await listBudgets(client);
  expect(budget).toMatchObject({ scope: "account", set_by: "operator" });
  const page = `/users/${username}/budgets/${budget?.id}`;
  expect((await visitor.look(`/users/${username}`)).html).toContain(`href="${page}"`);
  expect((await owner.look("/account/usage")).html).toContain("set by an operator");
  const refused = await owner.send(`/account/budgets/${budget?.id}`, { ...FORM, limit: "90" });
  expect(refused.status).toBe(403);
  expect(refused.html).toContain("Only an operator can change it");
  await visitor.send(page, { limit: "2", kind: "hard", alert_at: "80" });
  expect(await listBudgets(client)).toMatchObject([{ limit: "2" }]);
});
