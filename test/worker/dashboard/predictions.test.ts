/** The list of predictions, and the actions on one, without client code. */
import { env } from "cloudflare:workers";
import { describe, expect, it, test } from "vitest";
import { timeOfId } from "../../../src/lib/hex.ts";
import { type Customer, newCustomer } from "../support/customer.ts";
import { eventually } from "../support/eventually.ts";
import { textOf } from "../support/page-text.ts";
import { signedUp } from "../support/visitor.ts";
import { newClient } from "../support/world.ts";

const idsIn = (html: string) => [...html.matchAll(/data-row="([\w-]+)"/g)].map(([, id]) => id);

const listed = async ({ visitor }: Customer, query = "") =>
  idsIn((await visitor.look(`/predictions${query}`)).html);

/** Returns a prediction that has succeeded. */
async function ended(who: Customer, ...values: string[]): Promise<string> {
  const id = await who.waiting();
  const { channel } = await (await who.runner()).work();
  await channel.succeed(...values);
  return id;
}

describe("the list of predictions", () => {
  it("the list is filtered by status and model with a form, which keeps its values", async () => {
    const who = await newCustomer();
    const other = await newCustomer();
    const first = await ended(who, "x");
    const second = await who.waiting();
    const { body } = await who.client.create({ model: other.model, input: {} });
    await eventually(async () =>
      expect(await listed(who, "?statuses=succeeded&statuses=failed&model=")).toEqual([first]),
    );
    expect(await listed(who, `?model=${encodeURIComponent(who.model)}`)).toEqual([second, first]);
    expect(await listed(who, `?model=${other.model}&statuses=pending`)).toEqual([body.id]);
    const { html } = await who.visitor.look(`/predictions?model=${other.model}&statuses=failed`);
    expect(html).toContain("No predictions match these filters");
    expect(html).toContain(`value="${other.model}"`);
    expect(html).toMatch(/value="failed" checked/);
  });

  it("the list is filtered by ID, token, day and duration, and links to the list without each filter", async () => {
    const who = await newCustomer();
    const [first, second] = [await who.waiting(), await who.waiting()];
    const { channel } = await (await who.runner()).work();
    await channel.report([], { status: "succeeded", output: "none", execution_seconds: 2.5 });
    // Earlier tests may have moved the clock, behind which IDs do not fall back.
    const day = new Date(timeOfId(first)).toISOString().slice(0, 10);
    await eventually(async () => expect(await listed(who, "?statuses=succeeded")).toEqual([first]));
    expect(await listed(who, `?id=${first.toUpperCase()}`)).toEqual([first]);
    // The forms of an ID are those of the list, and those that people copy.
    const end = first.slice(-12);
    for (const shown of [`…${end}`, `...${end}`, end.toUpperCase()])
      expect(await listed(who, `?id=${encodeURIComponent(shown)}`)).toEqual([first]);
    expect(await listed(who, `?id=${end}&statuses=pending`)).toEqual([]);
    expect((await who.visitor.look(`/predictions?id=${end}`)).html).toContain(
      `aria-label="Remove: ID ends with ${end}"`,
    );
    expect((await who.visitor.look("/predictions?id=%E2%80%A6abc")).html).toContain(
      "at least 8 characters of its end",
    );
    expect(await listed(who, `?from=${day}&to=${day}`)).toEqual([second, first]);
    expect(await listed(who, "?to=2020-01-01")).toEqual([]);
    expect(await listed(who, "?from=2020-01-01&longer=90000")).toEqual([]);
    expect(await listed(who, "?longer=2.5")).toEqual([first]);
    expect(await listed(who, "?token=nobody")).toEqual([]);
    const { html } = await who.visitor.look(`/predictions?statuses=failed&id=0&from=${day}`);
    expect(html).toContain(`href="/predictions?id=0&amp;from=${day}" aria-label="Remove: failed"`);
    expect(html).toContain('aria-label="Remove: ID begins with 0"');
    expect(html).toMatch(/<details open/);
    const wrong = (await who.visitor.look("/predictions?from=yesterday&longer=-1&model=%3Cb%3E"))
      .html;
    expect(wrong).toContain("Use owner/name.");
    expect(wrong).toContain('value="&lt;b&gt;"');
    expect(wrong).toContain("Enter a date such as 2026-11-27.");
    expect(wrong).toContain("Enter seconds, such as 2.5.");
    expect(wrong).not.toContain('class="line-up chip"');
    const reversed = (await who.visitor.look("/predictions?from=2026-11-02&to=2026-11-01")).html;
    expect(reversed).toContain("Must be on or after the start date.");
  });

  it("the list shows the token that created each prediction, even if it is revoked", async () => {
    const who = await newCustomer();
    const client = await newClient(who.username, { name: "nightly & co" });
    const id = (await client.create({ model: who.model, input: {} })).body.id;
    await who.waiting();
    await env.DB.prepare("DELETE FROM tokens WHERE user_id = ? AND name = ?")
      .bind(who.user_id, "nightly & co")
      .run();
    expect(await listed(who, "?token=nightly+%26+co")).toEqual([id]);
    const link = '<a href="/predictions?token=nightly+%26+co"><bdi>nightly &amp; co</bdi></a>';
    for (const path of ["/predictions", `/predictions/${id}`])
      expect((await who.visitor.look(path)).html).toContain(`by ${link}`);
  });

  it.each(["?cursor=garbage", "?statuses=odd", "?page_size=many"])(
    "a malformed address of the list is a 400: %s",
    async (query) => {
      const { visitor } = await signedUp();
      const { status, html } = await visitor.look(`/predictions${query}`);
      expect(status).toBe(400);
      expect(html).toContain("This page of the list does not exist.");
    },
  );

  it("the list has pages forward and back, which keep the filter", async () => {
    const who = await newCustomer();
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.unshift(await who.waiting());
    const query = `?page_size=5&model=${encodeURIComponent(who.model)}`;
    const first = await who.visitor.look(`/predictions${query}`);
    expect(idsIn(first.html)).toEqual(ids.slice(0, 5));
    expect(first.html).toContain("data-first");
    const [, older = ""] = /<a href="([^"]+)" rel="next">/.exec(first.html) ?? [];
    const second = await who.visitor.look(older.replaceAll("&amp;", "&"));
    expect(idsIn(second.html)).toEqual(ids.slice(5));
    expect(second.html).not.toContain("data-first");
    const [, newer = ""] = /<a href="([^"]+)" rel="prev">/.exec(second.html) ?? [];
    const back = await who.visitor.look(newer.replaceAll("&amp;", "&"));
    // The link leads to the one first page, where new predictions appear.
    expect([back.status, back.location]).toEqual([303, `/predictions${query}`]);
  });
});

describe("a model that has changed", () => {
  it("a renamed model has its present name everywhere, also in the filter", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const [owner] = who.model.split("/");
    await who.rename("tale");
    const model = `${owner}/tale`;
    const { html } = await who.visitor.look(`/predictions?model=${model}`);
    expect(idsIn(html)).toEqual([id]);
    expect(html).toContain(`<a href="/predictions/${id}">${model}</a>`);
    const page = (await who.visitor.look(`/predictions/${id}`)).html;
    expect(page).toContain(`<a href="/models/${model}">${model}</a>`);
    expect(page).toContain(`/models/${model}/versions/1`);
    expect(page).toContain(`/models/${model}?prediction=${id}`);
    expect(page).not.toContain(`/models/${who.model}`);
    // The earlier name finds its predictions while no other model has it.
    expect(await listed(who, `?model=${who.model}`)).toEqual([id]);
    const { body } = await who.client.json("GET", `/v1/predictions?model=${who.model}`);
    expect(body).toMatchObject({ items: [{ id }] });
  });

  it("a deleted or hidden model is named without a link", async () => {
    const who = await newCustomer();
    const id = await ended(who, "x");
    await who.hide();
    const all = async () => [
      (await who.visitor.look("/predictions")).html,
      (await who.visitor.look(`/predictions/${id}`)).html,
    ];
    for (const html of await all()) {
      expect(html).toContain(who.model);
      expect(html).not.toContain(`/models/${who.model}`);
    }
    await who.remove();
    for (const html of await all()) {
      expect(html).toContain(who.model);
      expect(html).not.toContain(`/models/${who.model}`);
    }
    expect(await listed(who, `?model=${who.model}`)).toEqual([id]);
  });
});

describe("running again", () => {
  it("a repeated run is another prediction of the same version and input, even if the model was renamed", async () => {
    const who = await newCustomer();
    const request = { model: who.model, input: { text: "Alice", n: [1] }, stream: true };
    const created = await who.client.post("/v1/predictions", request);
    const id = created.headers.get("location")?.split("/").at(-1) ?? expect.fail("no address");
    await who.client.cancel(id);
    await who.rename("tale");
    const { status, location = "" } = await who.visitor.send(`/predictions/${id}/retry`);
    expect(status).toBe(303);
    expect(location).not.toBe(`/predictions/${id}`);
    expect(await who.client.get(location.replace("/predictions/", ""))).toMatchObject({
      status: "pending",
      stream: true,
      input: { text: "Alice", n: [1] },
      model: { version_number: 1 },
    });
    const answer = await who.visitor.call("POST", `/predictions/${id}/retry`);
    expect(answer.status).toBe(200);
    const { id: third } = await answer.json<{ id: string }>();
    expect((await who.client.get(third)).input).toEqual({ text: "Alice", n: [1] });
  });

  it("a repeated run keeps an input that is too large for the object", async () => {
    const who = await newCustomer();
    const text = "x".repeat(1_200_000);
    const id = await who.waiting({ input: { text } });
    await who.client.cancel(id);
    const { location = "" } = await who.visitor.send(`/predictions/${id}/retry`);
    expect((await who.client.get(location.replace("/predictions/", ""))).input).toEqual({ text });
  });
});

it("a removal leaves the prediction in the list", async () => {
  const who = await newCustomer();
  const id = await who.waiting({ input: { secret: "tarts" } });
  const { channel } = await (await who.runner()).work();
  await channel.succeed("stolen");
  expect((await who.visitor.look(`/predictions/${id}`)).html).toContain("tarts");
  await who.visitor.send(`/predictions/${id}/delete`);
  const { status, html } = await who.visitor.look(`/predictions/${id}`);
  expect(status).toBe(200);
  expect(html).toContain("The input, output, and logs were deleted.");
  expect(html).toContain('<span class="status succeeded">');
  expect(html).not.toMatch(/tarts|stolen|Run again|Remove data/);
  expect((await who.client.get(id)).data_removed).toBe(true);
});

it.each<[string, string, (who: Customer) => Promise<string>, string]>([
  ["a cancel after the end", "cancel", (who) => ended(who), "has already ended"],
  ["a removal before the end", "delete", (who) => who.waiting(), "has not ended"],
  [
    "another run after its removal",
    "retry",
    async (who) => {
      const id = await ended(who, "x");
      expect((await who.visitor.send(`/predictions/${id}/delete`)).status).toBe(303);
      return id;
    },
    "Its input was deleted, so it cannot run again.",
  ],
])("a prediction refuses %s with a message", async (_, action, make, words) => {
  const who = await newCustomer();
  const { status, html } = await who.visitor.send(`/predictions/${await make(who)}/${action}`);
  expect([status, html]).toEqual([409, expect.stringContaining(words)]);
});

test("a start check has its label in the list, on its page and in usage", async () => {
  const who = await newCustomer();
  const id = await who.waiting({ start_check: true });
  const { channel } = await (await who.runner()).work();
  await channel.succeed("x");
  expect((await who.visitor.look("/predictions")).html).toMatch(/class="badge">Start check</);
  expect(textOf((await who.visitor.look(`/predictions/${id}`)).html)).toContain("· Start check");
  await eventually(async () =>
    expect((await who.visitor.look("/account/usage")).html).toContain("<bdi>Start check</bdi>"),
  );
});
