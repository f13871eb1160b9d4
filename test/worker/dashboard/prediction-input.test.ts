/** The input of a run on its page. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ORIGIN } from "../support/client.ts";
import { type Customer, newCustomer } from "../support/customer.ts";
import { bytesOf, fileUrl, nobody, uploaded } from "../support/files.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("the input of a run", () => {
  const page = async ({ visitor }: Customer, id: string) =>
    (await visitor.look(`/predictions/${id}`)).html;

  it("an input is shown field by field, with pictures", async () => {
    const who = await newCustomer();
    const dot = "data:image/png;base64,iVBORw0KGgo=";
    const id = await who.waiting({ input: { prompt: "<b>Alice</b>", steps: 20, mask: dot } });
    const html = await page(who, id);
    expect(html).toContain("<dt>prompt</dt>");
    expect(html).toContain("&lt;b&gt;Alice&lt;/b&gt;");
    expect(html).toContain("<code>20</code>");
    expect(html).toContain(`<img src="${dot}"`);
    expect(html).toContain(`/models/${who.model}?prediction=${id}`);
  });

  it("a file whose address has expired gets a new one while it exists", async () => {
    const who = await newCustomer();
    const upload = await uploaded(who.client, bytesOf(100), {
      name: "in.png",
      mime_type: "image/png",
    });
    const old = fileUrl(upload).replace(/expires=\d+/, "expires=1");
    const id = await who.waiting({ input: { image: old } });
    const [, address = ""] = /<img src="([^"]+)"/.exec(await page(who, id)) ?? [];
    const file = await nobody.fetch(address.replaceAll("&amp;", "&"));
    expect(await file.arrayBuffer()).toEqual(bytesOf(100).buffer);
    await who.client.ok("DELETE", `/v1/uploads/${upload.id}`);
    const html = await page(who, id);
    expect(html).not.toContain("<img");
    expect(html).toContain("in.png?expires=1&amp;signature=");
  });

  it("an upload is shown as its file, and the next run gets the same upload", async () => {
    const who = await newCustomer();
    const facts = { name: "in.png", mime_type: "image/png" };
    const upload = await uploaded(who.client, bytesOf(100), facts);
    const address = `/v1/uploads/${upload.id}`;
    const id = await who.waiting({ input: { image: address, other: [`${ORIGIN}${address}`] } });
    const html = await page(who, id);
    const pictures = [...html.matchAll(/<img src="([^"]+)" alt="in.png"/g)].map(([, src]) => src);
    expect(pictures).toHaveLength(2);
    const file = await nobody.fetch(pictures[0]?.replaceAll("&amp;", "&") ?? "");
    expect(await file.arrayBuffer()).toEqual(bytesOf(100).buffer);
    const form = await who.visitor.look(`/models/${who.model}?prediction=${id}`);
    expect(form.html).toContain(address);
    await who.visitor.look(`/predictions/${id}`);
    const { location = "" } = await who.visitor.send(`/predictions/${id}/retry`);
    const again = await who.client.get(location.replace("/predictions/", ""));
    expect(again.input).toEqual({ image: address, other: [`${ORIGIN}${address}`] });
  });

  it("an upload of another user is never shown as a file", async () => {
    const who = await newCustomer();
    const upload = await uploaded((await newCustomer()).client, bytesOf(10), {});
    const id = await who.waiting({ input: { text: `see /v1/uploads/${upload.id}` } });
    expect(await page(who, id)).not.toContain("/v1/files/");
  });

  it("every field is masked once the version is deleted, whose schema says which are secret", async () => {
    const who = await newCustomer();
    await env.DB.prepare("UPDATE versions SET schemas = ? WHERE repository LIKE ?")
      .bind(
        JSON.stringify({
          prediction: {
            input: { properties: { key: { format: "password" }, prompt: {} } },
            output: {},
          },
        }),
        `%/${who.model}`,
      )
      .run();
    const id = await who.waiting({ input: { key: "hunter2", prompt: "A fox" } });
    expect(await page(who, id)).toContain("A fox");
    await who.remove();
    const html = await page(who, id);
    expect(html).not.toContain("hunter2");
    expect(html).toContain("<dt>key</dt>");
    expect(html).toContain("Hidden, because the version was deleted");
  });

  it("a deeply nested input takes no more space than its text", async () => {
    const who = await newCustomer();
    const deep = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    const nested = await who.waiting({ input: { p: deep(125), list: Array(6).fill(deep(120)) } });
    expect((await page(who, nested)).length).toBeLessThan(30_000);
    const form = await who.visitor.look(`/models/${who.model}?prediction=${nested}`);
    expect([form.status, form.html.length < 150_000]).toEqual([200, true]);
  });

  it("messages are shown as turns", async () => {
    const who = await newCustomer();
    const content = [{ type: "image_url", image_url: {} }];
    const messages = [
      { role: "system", content: "Be <brief>." },
      { role: "user", content },
    ];
    const html = await page(who, await who.waiting({ input: { messages, seed: 7 } }));
    expect(html).toContain(
      '<ol class="stack"><li><strong class="small">system</strong><div class="output-item text">Be &lt;brief&gt;.</div></li><li><strong class="small">user</strong><p class="hint">image</p></li></ol>',
    );
    expect(html).toContain('<dt>seed</dt><dd><div class="output-item"><code>7</code>');
  });

  it("an input that is too large for a page is left out", async () => {
    const who = await newCustomer();
    const html = await page(who, await who.waiting({ input: { text: "z".repeat(300_000) } }));
    expect(html).toContain("The input is too large to show here.");
    expect(html).not.toContain("zzz");
  });
});
