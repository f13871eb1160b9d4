/** Webhook endpoints in the dashboard: made, tested, changed, and their secrets rotated. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { run } from "../support/accounts.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { changeEndpoint, getEndpoint, listEndpoints, newEndpoint } from "../support/endpoints.ts";
import { textOf } from "../support/page-text.ts";
import { addressOf, freshPath, received, script } from "../support/receiver.ts";
import { expectSigned } from "../support/webhooks.ts";

const LIST = "/account/webhooks";
const SECRET = /whsec_[A-Za-z0-9+/=]+/;

/** A user with one endpoint, on its page. */
async function withEndpoint() {
  const person = await newDashboardUser();
  const path = freshPath();
  const endpoint = await newEndpoint(person.client, { url: addressOf(path) });
  const page = `${LIST}/${endpoint.id}`;
  await person.visitor.look(page);
  return { ...person, path, endpoint, page };
}

const fails = (id: string, enabled: boolean, error: string) =>
  run(
    "UPDATE webhook_endpoints SET enabled = ?, failing_since = 1, last_error = ?, notice = ? WHERE id = ?",
    enabled ? 1 : 0,
    error,
    enabled ? null : "n",
    id,
  );

describe("an endpoint", () => {
  it("an endpoint is made, and its secret is shown once", async () => {
    const { visitor, client } = await newDashboardUser();
    const empty = (await visitor.look(LIST)).html;
    expect(empty).toContain("No endpoints yet");
    expect(empty).toMatch(/<summary[^>]* hidden=""[^>]*>New endpoint/);
    const url = addressOf(freshPath());
    const form = { url, description: "Prod & <b>co</b>", events: "completed" };
    const { html } = await visitor.send(LIST, form);
    const [secret = ""] = SECRET.exec(html) ?? [];
    expect(secret).not.toBe("");
    // The registry of npm does not have that package: its name could be taken by anybody.
    const [, address = ""] =
      /curl -fsSO (\S+)\nnpm install \.\/auspex-webhooks\.tgz/.exec(html) ?? [];
    expect((await env.ASSETS.fetch(address)).status).toBe(200);
    const list = (await visitor.look(LIST)).html;
    expect(list).not.toMatch(SECRET);
    expect(list).toMatch(/<summary class="[^"]*">New endpoint/);
    expect(list).toContain("Prod &amp; &lt;b&gt;co&lt;/b&gt;");
    const [made] = await listEndpoints(client);
    expect(made).toMatchObject({ url, events: ["completed"], enabled: true });
  });

  it.each([
    ["url", { url: "https://10.0.0.1/", events: "completed" }],
    ["events", { url: addressOf(freshPath()), events: "" }],
  ])("an endpoint that is refused has its error beside the field %s", async (field, form) => {
    const { visitor } = await newDashboardUser();
    const { status, html } = await visitor.send(LIST, { ...form, description: "" });
    expect([status, html]).toEqual([422, expect.stringContaining(`id="${field}-error"`)]);
  });

  it("an endpoint that fails shows it openly, with its error as text", async () => {
    const { visitor, endpoint, page } = await withEndpoint();
    await fails(endpoint.id, true, "<script>alert(1)</script>");
    for (const address of [LIST, page]) {
      const { html } = await visitor.look(address);
      expect(html).toContain("All deliveries have failed since");
      expect(html).toContain("&lt;script&gt;alert(1)");
    }
  });

  it("an endpoint that the service has disabled shows why, and how to go on", async () => {
    const { visitor, client, endpoint, page } = await withEndpoint();
    await fails(endpoint.id, false, "responded with status 410: bye");
    const text = textOf((await visitor.look(page)).html);
    expect(text).toContain(
      "Disabled because the receiver responded with 410 Gone. Enable it again, or delete it.",
    );
    expect(text).not.toContain("have failed since");
    await changeEndpoint(client, endpoint.id, { enabled: true });
    expect((await visitor.look(page)).html).not.toContain("Auspex has disabled it");
  });
});

it("a test shows the receiver's answer", async () => {
  const { visitor, path, page, endpoint } = await withEndpoint();
  await script(path, { status: 500 }, { status: 204 });
  const failed = await visitor.send(`${page}/test`);
  expect(failed.status).toBe(200);
  expect(failed.html).toContain("failed: 500");
  expect((await visitor.send(`${page}/test`)).html).toContain("delivered: 204");
  const [post] = await received(path);
  if (post) await expectSigned(post, endpoint.secret);
});

it("an endpoint's secrets are rotated: the new one is shown once, then the old one is deleted", async () => {
  const { visitor, client, endpoint, page } = await withEndpoint();
  const { html } = await visitor.send(`${page}/secrets`);
  expect(html).toMatch(SECRET);
  expect(html).not.toContain(endpoint.secret);
  expect((await visitor.look(page)).html).not.toMatch(SECRET);
  const [old] = endpoint.secrets;
  await visitor.send(`${page}/secrets/${old?.id}/delete`);
  const { secrets } = await getEndpoint(client, endpoint.id);
  expect(secrets).toHaveLength(1);
  expect(secrets[0]?.id).not.toBe(old?.id);
});
