/** Shared links to predictions: what they show, to whom, and when they end. */
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ORIGIN } from "../support/client.ts";
import { type Customer, newCustomer } from "../support/customer.ts";
import { eventually } from "../support/eventually.ts";

interface Shared {
  who: Customer;
  id: string;
  path: string;
}

async function ended(who: Customer, input: object = {}): Promise<string> {
  const id = await who.waiting({ input });
  const { channel } = await (await who.runner()).work();
  await channel.report(
    [
      { event: "logs", data: "a line of the log" },
      { event: "output", data: "Off with her head" },
    ],
    { status: "succeeded", output: "items" },
  );
  return id;
}

const share = async ({ visitor }: Customer, id: string, days = "7") => {
  await visitor.look(`/predictions/${id}`);
  return visitor.send(`/predictions/${id}/share`, { days });
};

async function shared(input: object = {}, schema: object = {}): Promise<Shared> {
  const who = await newCustomer();
  await env.DB.prepare("UPDATE versions SET schemas = ? WHERE repository LIKE ?")
    .bind(JSON.stringify({ prediction: { input: schema, output: {} } }), `%/${who.model}`)
    .run();
  const id = await ended(who, input);
  const { html } = await share(who, id);
  const [path = ""] = /\/shared\/auss_\w+/.exec(html) ?? [];
  return { who, id, path };
}

/** Requests a page without a session. */
const see = (path: string) =>
  exports.default.fetch(new Request(ORIGIN + path, { headers: { accept: "text/html" } }));

const ROW = "SELECT * FROM shares WHERE prediction_id = ?";

describe("a shared link", () => {
  it("a link shows input and output to anybody, and nothing else", async () => {
    const { who, id, path } = await shared(
      { prompt: "Who stole the tarts?", login: "hunter2" },
      { properties: { prompt: { type: "string" }, login: { type: "string", format: "password" } } },
    );
    const response = await see(path);
    expect(response.status).toBe(200);
    const html = await response.text();
    expect(html).toContain("Who stole the tarts?");
    expect(html).toContain("Off with her head");
    const owner = who.model.split("/")[0] ?? "";
    for (const secret of ["hunter2", "a line of the log", id, owner, who.username, "webhook"])
      expect(html).not.toContain(secret);
    const { headers } = response;
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-robots-tag")).toContain("noindex");
  });

  it("a link is stored as a hash, under an ID that does not reveal the prediction", async () => {
    const { id, path } = await shared();
    const row = await env.DB.prepare(ROW).bind(id).first<Record<string, string | number>>();
    expect(JSON.stringify(row)).not.toContain(path.split("/").at(-1));
    expect(row?.id).toMatch(/^[\w]{8}-[\w]{4}-4/);
    const week = Number(row?.expires_at) - Number(row?.created_at);
    expect(week).toBe(7 * 86_400_000);
  });

  it("a link with a wrong character, or one that has expired, is a 404", async () => {
    const { id, path } = await shared();
    const wrong = `${path.slice(0, -1)}${path.endsWith("a") ? "b" : "a"}`;
    expect((await see(wrong)).status).toBe(404);
    await env.DB.prepare("UPDATE shares SET expires_at = ? WHERE prediction_id = ?")
      .bind(Date.now() - 1, id)
      .run();
    expect((await see(path)).status).toBe(404);
  });

  it("a link is made only once the prediction has ended", async () => {
    const who = await newCustomer();
    expect((await share(who, await who.waiting())).status).toBe(409);
  });

  it("a link is on the page of its prediction, and can be revoked there", async () => {
    const { who, id, path } = await shared();
    const row = await env.DB.prepare(ROW).bind(id).first<{ id: string }>();
    const page = `/predictions/${id}`;
    const { html } = await who.visitor.look(page);
    expect(html).toContain(`action="/account/shares/${row?.id}/revoke"`);
    expect(html).toContain("Shared link");
    expect(html).toContain('data-confirm="Revoke this link?');
    const list = (await who.visitor.look("/account/shares")).html;
    expect(list).toContain(`${who.model} …${id.slice(-12)}`);
    const revoked = await who.visitor.send(`/account/shares/${row?.id}/revoke`, { from: page });
    expect(revoked.headers.get("location")).toBe(page);
    expect((await who.visitor.look(page)).html).not.toContain("Shared link");
    expect((await (await see(path)).text()).toLowerCase()).toContain("ask the sender");
  });

  it("a link ends with the prediction's data, and with the account", async () => {
    const [one, other, third] = await Promise.all([shared(), shared(), shared()]);
    await one.who.client.ok("DELETE", `/v1/predictions/${one.id}`);
    await eventually(async () => expect((await see(one.path)).status).toBe(404));
    const suspend = (user: string, at: number | null) =>
      env.DB.prepare("UPDATE users SET suspended_at = ? WHERE username = ?").bind(at, user).run();
    await suspend(other.who.username, Date.now());
    expect((await see(other.path)).status).toBe(404);
    await suspend(other.who.username, null);
    expect((await see(other.path)).status).toBe(200);
    await env.DB.prepare("UPDATE users SET deleted_at = ? WHERE username = ?")
      .bind(Date.now(), third.who.username)
      .run();
    expect((await see(third.path)).status).toBe(404);
  });

  it("a link gives no access to files of others, whatever the input names", async () => {
    const victim = await shared();
    await env.FILES.put(`${victim.id}/out.png`, "of somebody else");
    const { path } = await shared({ prompt: `Look at /v1/files/${victim.id}/out.png` });
    expect((await see(`${path}/files/${victim.id}/out.png`)).status).toBe(404);
  });

  it("a link gives access to files of its owner that the input names", async () => {
    const who = await newCustomer();
    const [first, other] = [await ended(who), await ended(who)];
    for (const key of [`${first}/out.png`, `${first}/data-1.png`, `${other}/out.png`])
      await env.FILES.put(key, "one's own");
    const id = await ended(who, { image: `${ORIGIN}/v1/files/${first}/out.png` });
    const { html } = await share(who, id);
    const [path = ""] = /\/shared\/auss_\w+/.exec(html) ?? [];
    expect((await see(`${path}/files/${first}/out.png`)).status).toBe(200);
    for (const file of [`${other}/out.png`, `${first}/data-1.png`])
      expect((await see(`${path}/files/${file}`)).status).toBe(404);
  });

  it("a link gives access to files sent with the request, except those of secret fields", async () => {
    const dataUri = (text: string) => `data:text/plain;base64,${btoa(text.repeat(20_000))}`;
    const { id, path } = await shared(
      { letter: dataUri("Dear Queen"), login: dataUri("hunter2") },
      { properties: { letter: { type: "string" }, login: { type: "string", format: "password" } } },
    );
    const { objects } = await env.FILES.list({ prefix: `${id}/data-` });
    const names = objects.map(({ key }) => key.slice(id.length + 1)).sort();
    const seen = await Promise.all(
      names.map(async (name) =>
        (await (await see(`${path}/files/run/${name}`)).text()).slice(0, 10),
      ),
    );
    expect([names.length, seen[0]]).toEqual([2, "Dear Queen"]);
    expect((await see(`${path}/files/run/${names[1]}`)).status).toBe(404);
  });

  it("a link gives access to the files of its prediction only", async () => {
    const { id, path } = await shared({ image: "none" });
    const elsewhere = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
    await env.FILES.put(`${id}/out.png`, "a picture", {
      httpMetadata: { contentType: "image/png" },
    });
    await env.FILES.put(`${elsewhere}/out.png`, "of another");
    const file = await see(`${path}/files/run/out.png`);
    expect([file.status, await file.text()]).toEqual([200, "a picture"]);
    expect(file.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    expect(file.headers.get("cache-control")).toBe("no-store");
    for (const other of [`${elsewhere}/out.png`, "run/values", `..%2f${elsewhere}/out.png`])
      expect((await see(`${path}/files/${other}`)).status).toBe(404);
    await env.DB.prepare("DELETE FROM shares WHERE prediction_id = ?").bind(id).run();
    expect((await see(`${path}/files/run/out.png`)).status).toBe(404);
  });
});
