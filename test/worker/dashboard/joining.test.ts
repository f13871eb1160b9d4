/** Links with which people join an organization, with and without an account. */
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import { run } from "../support/accounts.ts";
import { newDashboardOrganization, newDashboardUser } from "../support/dashboard-users.ts";
import { textOf } from "../support/page-text.ts";
import { PASSWORD, Visitor } from "../support/visitor.ts";
import { unique } from "../support/world.ts";

const { settings } = getServices(env);

afterEach(() => {
  settings.signUp = "open";
  settings.organizationInvitations = "existing";
  vi.useRealTimers();
});

interface Invited {
  id: string;
  invitation: string;
}

async function newLink() {
  const { account } = await newDashboardOrganization();
  const path = `/v1/organizations/${account.username}/invitations`;
  const { id, invitation } = await account.client.ok<Invited>("POST", path, { role: "developer" });
  const revoke = () => account.client.ok("DELETE", `${path}/${id}`);
  const members = async () => {
    const list = `/v1/organizations/${account.username}/members`;
    const { items } = await account.client.ok<{ items: { role: string }[] }>("GET", list);
    return items.filter(({ role }) => role === "developer").length;
  };
  return {
    id,
    organization: account.username,
    invitation,
    link: `/join/${invitation}`,
    revoke,
    members,
  };
}

const newcomer = () => {
  const username = unique("newcomer");
  return { username, name: "", email: `${username}@example.com`, password: PASSWORD };
};

/** Follows the link as a visitor who creates an account. */
async function signUpWith(invitation: string) {
  const visitor = new Visitor();
  await visitor.look(`/join/${invitation}`);
  const { location = "" } = await visitor.send("/sign-up/invitation", { invitation });
  const { html } = await visitor.look(location);
  return {
    form: textOf(html),
    ...(await visitor.send("/sign-up", { ...newcomer(), invitation })),
    visitor,
  };
}

test("a visitor with an account logs in from the link and comes back to join", async () => {
  const { organization, link, members } = await newLink();
  const { email } = await newDashboardUser();
  const visitor = new Visitor();
  const { html } = await visitor.look(link);
  expect(textOf(html)).toContain(`Join ${organization} You are invited as developer`);
  expect(html).toContain(`href="/sign-in?next=${link}"`);
  const before = await members();
  const { location } = await visitor.send("/sign-in", { email, password: PASSWORD, next: link });
  expect(location).toBe(link);
  expect(textOf((await visitor.look(link)).html)).toContain(`Join ${organization}`);
  expect((await visitor.send(link)).location).toBe(`/organizations/${organization}`);
  expect(await members()).toBe(before + 1);
});

test("where everybody can sign up, a new person creates an account from the link and has joined", async () => {
  const { organization, invitation, link, members } = await newLink();
  const before = await members();
  const { form, status, location, visitor } = await signUpWith(invitation);
  expect(form).toContain(`You will join ${organization} as developer.`);
  expect([status, location]).toEqual([303, `/organizations/${organization}`]);
  expect((await visitor.look(`/organizations/${organization}`)).status).toBe(200);
  expect(await members()).toBe(before + 1);
  expect((await visitor.look(link)).status).toBe(404);
});

test("where sign-up is by invitation, the link admits a new person only if ORGANIZATION_INVITATIONS is new", async () => {
  const { organization, invitation, link, members } = await newLink();
  const before = await members();
  settings.signUp = "invitation";
  expect(textOf((await new Visitor().look(link)).html)).toContain(
    "No account yet? Ask the operator of this deployment for one, then open this link again.",
  );
  expect((await signUpWith(invitation)).status).toBe(403);
  settings.organizationInvitations = "new";
  expect(textOf((await new Visitor().look(link)).html)).toContain("Create an account and join");
  expect((await signUpWith(invitation)).location).toBe(`/organizations/${organization}`);
  expect(await members()).toBe(before + 1);
  // The link is used up: it admits one person.
  const again = await signUpWith(invitation);
  expect(again.status).toBe(403);
  expect(await members()).toBe(before + 1);
});

test("where sign-up is closed, the link admits no new person", async () => {
  const { invitation, link } = await newLink();
  settings.signUp = "closed";
  settings.organizationInvitations = "new";
  expect(textOf((await new Visitor().look(link)).html)).not.toContain("Create an account");
  expect((await signUpWith(invitation)).status).toBe(403);
});

test("a link that was revoked, has expired or is of a demoted admin admits nobody", async () => {
  const [revoked, expired, demoted] = [await newLink(), await newLink(), await newLink()];
  settings.signUp = "invitation";
  settings.organizationInvitations = "new";
  const refuses = async ({ invitation, link }: { invitation: string; link: string }) => {
    const { status, html } = await new Visitor().look(link);
    expect(status).toBe(404);
    expect(textOf(html)).toContain("It was used, revoked or has expired. Ask for a new one.");
    expect((await signUpWith(invitation)).status).toBe(403);
  };
  await revoked.revoke();
  await refuses(revoked);
  await run("UPDATE organization_invitations SET expires_at = 1 WHERE id = ?", expired.id);
  await refuses(expired);
  await run("UPDATE tokens SET service_role = 'member' WHERE service_role = 'owner'");
  await refuses(demoted);
});
