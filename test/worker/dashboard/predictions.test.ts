/** The list of predictions, and the actions on one, without client code. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type Customer, newCustomer } from "../support/customer.ts";
import { eventually } from "../support/eventually.ts";
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
