/** More of the list of predictions: its other filters, start checks and large inputs. */
import { describe, expect, it, test } from "vitest";
import { timeOfId } from "../../../src/lib/hex.ts";
import { type Customer, newCustomer } from "../support/customer.ts";
import { eventually } from "../support/eventually.ts";
import { textOf } from "../support/page-text.ts";

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
});

describe("a model that has changed", () => {
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
  it("a repeated run keeps an input that is too large for the object", async () => {
    const who = await newCustomer();
    const text = "x".repeat(1_200_000);
    const id = await who.waiting({ input: { text } });
    await who.client.cancel(id);
    const { location = "" } = await who.visitor.send(`/predictions/${id}/retry`);
    expect((await who.client.get(location.replace("/predictions/", ""))).input).toEqual({ text });
  });
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
