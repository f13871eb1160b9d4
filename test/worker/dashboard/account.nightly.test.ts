/** The charts and months of the own usage in the dashboard. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { UserUsage } from "../../../src/protocol/user.ts";
import { Client } from "../support/client.ts";
import { textOf } from "../support/page-text.ts";
import { count, daysAgo } from "../support/usage.ts";
import { signedUp } from "../support/visitor.ts";
import { newClient } from "../support/world.ts";

afterEach(() => void vi.useRealTimers());

const nobody = new Client(undefined);

describe("usage", () => {
  const NO_PRICES = "No prices are set. An operator can set them under Fleet → Hardware.";
  it("a usage page has a chart with a description, and the same numbers as tables", async () => {
    const { visitor, username } = await signedUp();
    const { id } = await nobody.ok<{ id: string }>("GET", `/v1/users/${username}`);
    await count(id, daysAgo(0), "ada/story", 3, 1);
    await count(id, daysAgo(0), "ada/<hello>", 5);
    await count(id, daysAgo(2), "ada/story", 1_200);
    await count(id, daysAgo(40), "ada/story", 7);
    const { html } = await visitor.look("/account/usage");
    expect(html).toMatch(
      /<svg[^>]* role="img"[^>]*aria-labelledby="predictions-title predictions-text"/,
    );
    expect(html).toContain("1,208 predictions from");
    expect(html).toContain(`<title>${daysAgo(0)}: 3 ada/story, 5 ada/&lt;hello&gt;</title>`);
    expect(html.match(/<rect fill="var\(--series-\d\)" x/g)).toHaveLength(3);
    const cells = (day: string) =>
      [...(new RegExp(`>${day}</th>(.*?)</tr>`).exec(html)?.[1] ?? "").matchAll(/>([\d,]+)</g)].map(
        ([, value]) => value,
      );
    expect(cells(daysAgo(0))).toEqual(["8", "1", "3", "5"]);
    expect(cells(daysAgo(2))).toEqual(["1,200", "0", "1,200", "0"]);
    expect(html).not.toMatch(/ style="/);
    expect(textOf(html)).toContain(NO_PRICES);
    expect(textOf(html)).not.toContain("Cost by day");
    expect(html).not.toContain('href="/fleet/hardware"');
    const quarter = await visitor.look("/account/usage?days=90");
    expect(quarter.html).toContain("1,215 predictions from");
    for (const days of ["1000", "x", ""])
      expect((await visitor.look(`/account/usage?days=${days}`)).html).toContain(
        "1,208 predictions",
      );
  });

  it("a usage page has a calendar month, with the figures of the API and of its CSV file", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2036-11-05T10:00:00Z") });
    const { visitor, username } = await signedUp();
    const client = await newClient(username);
    const { id } = await nobody.ok<{ id: string }>("GET", `/v1/users/${username}`);
    await count(id, "2036-09-30", "ada/story", 1);
    await count(id, "2036-10-01", "ada/story", 2, 1, { cost: 2_500_000_000 });
    await count(id, "2036-10-31", "ada/story", 3);
    await count(id, "2036-11-01", "ada/story", 4);
    const figures = async (query: string) =>
      /Predictions ([\d,]+) Failed/.exec(
        textOf((await visitor.look(`/account/usage?${query}`)).html),
      )?.[1];
    expect(await figures("month=2036-10")).toBe("5");
    expect(await figures("month=2036-11")).toBe("4");
    expect(await figures("days=30")).toBe("7");
    expect(await figures("month=2036-12")).toBe("7");
    const { month } = await client.ok<UserUsage>("GET", "/v1/user/usage");
    expect(month).toMatchObject({ since: "2036-11-01", predictions: 4 });
    const { html } = await visitor.look("/account/usage");
    expect(html).toContain('<a href="/account/usage?month=2036-10">Last month</a>');
    const csv = await visitor.fetch("/account/usage.csv?month=2036-10", {});
    const days = (await csv.text()).split("\r\n").map((line) => line.split(",")[0]);
    expect(days).toEqual(["day", "2036-10-01", "2036-10-31", ""]);
  });
});
