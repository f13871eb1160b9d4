/** The pages of the audit log. */
import { describe, expect, test } from "vitest";
import { moveEntries, tamper } from "../support/audit.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { signedUp } from "../support/visitor.ts";
import { newClient } from "../support/world.ts";

const withModel = async () => {
  const user = await signedUp();
  const client = await newClient(user.username);
  await client.ok("POST", "/v1/models", { name: "poet", description: "<b>Rhymes</b>" });
  const { id: user_id } = await client.ok<{ id: string }>("GET", "/v1/user");
  return { ...user, user_id };
};

describe("the audit log of an account", () => {
  test("the page has who did what, and the changed fields as text", async () => {
    const { visitor, username } = await withModel();
    const { html } = await visitor.look("/account/audit");
    expect(html).toContain("A model was created");
    expect(html).toContain(`${username}/poet`);
    expect(html).toContain("&lt;b&gt;Rhymes");
    expect(html).not.toContain("<b>Rhymes");
  });

  test("the page keeps its filter, and its export has the same entries", async () => {
    const { visitor } = await withModel();
    const query = "action=model.*&actor=&target=&from=2020-01-01&to=";
    const { html } = await visitor.look(`/account/audit?${query}`);
    expect(html).toContain("A model was created");
    expect(html).not.toContain("An access token was created");
    expect(html).toContain('value="2020-01-01"');
    expect((await visitor.look("/account/audit?to=2020-01-01")).html).toContain("No entries");
    const lines = (await visitor.look(`/account/audit/export?${query}`)).html.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ action: "model.created" }),
      { type: "end", entries: 1 },
    ]);
    expect((await visitor.look("/account/audit?from=soon")).status).toBe(400);
  });

  test("a verification says whether the log was tampered with", async () => {
    const { visitor, user_id } = await withModel();
    await moveEntries();
    expect((await visitor.look("/account/audit?verify=1")).html).toContain("Verified: none of the");
    await tamper(user_id, "UPDATE audit_entries SET actor_name = 'eve' WHERE sequence = 1");
    expect((await visitor.look("/account/audit?verify=1")).html).toContain(
      "tampered with. Entry 1",
    );
  });
});

test("the audit log of operators has all accounts, or one", async () => {
  const [operator, { username }] = [await newOperator(), await withModel()];
  const all = (await operator.visitor.look("/audit?action=model.created")).html;
  expect(all).toContain(`${username}/poet`);
  const own = await operator.visitor.look(`/audit?action=model.created&account=${username}`);
  expect(own.html.match(/A model was created/g)).toHaveLength(1);
  expect((await operator.visitor.look("/audit?account=nobody-of-this-name")).status).toBe(400);
  expect((await operator.visitor.look("/audit?verify=1")).html).toContain("Verified: none of the");
});
