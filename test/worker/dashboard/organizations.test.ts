/** The pages of organizations, as their people use them. */
import { expect, test } from "vitest";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { textOf } from "../support/page-text.ts";
import { unique } from "../support/world.ts";

test("a person creates an organization, invites another, and both see it", async () => {
  const [ada, grace] = [await newDashboardUser(), await newDashboardUser()];
  const username = unique("org");
  const path = `/organizations/${username}`;
  await ada.visitor.look("/organizations");
  const created = await ada.visitor.send("/organizations", { username, name: "Acme" });
  expect(created.headers.get("location")).toBe(path);
  await ada.visitor.look(path);
  const invited = await ada.visitor.send(`${path}/invitations`, {
    role: "developer",
    note: "Grace",
  });
  const [link = ""] = /\/join\/ausi_\w+/.exec(invited.html) ?? [];
  expect(textOf((await grace.visitor.look(link)).html)).toContain(`Join ${username}`);
  const joined = await grace.visitor.send(link, {});
  expect(joined.headers.get("location")).toBe(path);
  const hers = textOf((await grace.visitor.look(path)).html);
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
