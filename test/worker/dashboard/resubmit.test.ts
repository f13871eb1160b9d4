/** Forms of a session that has ended: what was typed is kept. */
import { describe, expect, it } from "vitest";
import { newModel } from "../support/catalogue.ts";
import { PASSWORD, signedUp, Visitor } from "../support/visitor.ts";
import { newClient } from "../support/world.ts";

const TYPED = 'A "long" text,\r\nwith <b>lines</b> & more';

/** Returns what the hidden fields of a page's only form would send. */
const keptIn = (html: string) => {
  const [, form = ""] = /<main.*?(<form.*?<\/form>)/s.exec(html) ?? [];
  const fields = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return {
    action: /action="([^"]*)"/.exec(form)?.[1],
    fields: Object.fromEntries(fields.map(([, name = "", text = ""]) => [name, unescaped(text)])),
  };
};

const unescaped = (text: string) =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

async function owner() {
  const { username, email } = await signedUp();
  const client = await newClient(username);
  const { name } = await newModel(client);
  return { username, email, client, model: `${username}/${name}` };
}

describe("a form of a session that has ended", () => {
  it("a form is kept, and can be sent again by the user who has logged in again", async () => {
    const { username, email, client, model } = await owner();
    const settings = `/models/${model}/settings`;
    const gone = new Visitor();
    const typed = { name: model.split("/")[1] ?? "", overview: TYPED, visibility: "public" };
    const first = await gone.send(settings, typed);
    expect(first.status).toBe(401);
    expect(first.html).toContain("You are logged out");
    // Every link to the login opens a new tab: the form is kept only in this one.
    const waysIn = [...first.html.matchAll(/<a href="\/sign-in[^>]*>/g)].map(([tag]) => tag);
    expect(waysIn).toEqual(['<a href="/sign-in" target="_blank" rel="noopener">']);
    expect(keptIn(first.html)).toMatchObject({
      action: settings,
      fields: typed,
    });

    await gone.look("/sign-in");
    await gone.send("/sign-in", { email, password: PASSWORD });
    // The page was made without a session and so has no form token.
    gone.formToken = "";
    const second = await gone.send(settings, keptIn(first.html).fields);
    expect(second.status).toBe(403);
    expect(second.html).toContain(`<strong>${username}</strong>`);
    const { form_token = "", ...fields } = keptIn(second.html).fields;
    gone.formToken = form_token;
    expect((await gone.send(settings, fields)).status).toBe(303);
    const saved = await client.ok<{ overview: string }>("GET", `/v1/models/${model}`);
    expect(saved.overview).toBe(TYPED.replace("\r\n", "\n"));
  });

  it("a form keeps no secret and no file, and names those fields", async () => {
    const { model } = await owner();
    const page = `/models/${model}/variables`;
    const sent = { variable_name: "HF_TOKEN", value: "hunter2" };
    const { html } = await new Visitor().send(page, sent);
    expect(html).not.toContain("hunter2");
    expect(html).toMatch(/Not kept[^<]*value/);
    expect(keptIn(html).fields).toEqual({ variable_name: "HF_TOKEN" });
  });

  it("a form of another site, or an empty one, is not kept", async () => {
    const { model } = await owner();
    const settings = `/models/${model}/settings`;
    const evil = { origin: "https://evil.example" };
    const forged = await new Visitor().send(settings, { overview: "mine now" }, evil);
    expect([forged.status, forged.html.includes("mine now")]).toEqual([403, false]);
    const empty = await new Visitor().send("/account/security/sign-out-everywhere");
    expect(empty.html).not.toContain("Submit");
  });
});
