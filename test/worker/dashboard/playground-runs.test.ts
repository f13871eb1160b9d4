/** Recent runs of a model beside its playground, and the comparison of two. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { newCustomer } from "../support/customer.ts";

/** Returns a customer with ended runs of these inputs. */
const withRuns = (...inputs: object[]) =>
  withOutputs(inputs.map((input) => ({ input, output: `of ${JSON.stringify(input)}` })));

async function withOutputs(runs: { input: object; output: Json }[]) {
  const who = await newCustomer();
  const runner = await who.runner();
  const ids: string[] = [];
  for (const { input, output } of runs) {
    ids.push(await who.waiting({ input }));
    const { channel } = await runner.work();
    await channel.report([{ event: "output", data: output }], {
      status: "succeeded",
      output: "items",
      execution_seconds: 2,
    });
  }
  const address = `/models/${who.model}`;
  const look = async (path: string) => (await who.visitor.look(`${address}${path}`)).html;
  return { who, ids, address, look };
}

describe("recent runs", () => {
  it("a recent run is named by its input, newest first, and links back to it", async () => {
    const { ids, address, look } = await withRuns({ prompt: "A fox" }, { prompt: "A <hare>" });
    const html = await look(`/runs?prediction=${ids[0]}`);
    expect(html.indexOf("A &lt;hare&gt;")).toBeLessThan(html.indexOf("A fox"));
    expect(html).toContain(`<a href="${address}?prediction=${ids[0]}" aria-current="page">`);
    expect(html).toContain(`<a href="${address}?prediction=${ids[1]}">`);
    expect(html).toContain(`prediction=${ids[0]}&amp;compare=${ids[1]}`);
    expect(await look("")).toContain("A fox");
    // Client code asks for this while no run is shown.
    expect(await look("/runs?prediction=")).toContain(`prediction=${ids[1]}&amp;compare=${ids[0]}`);
  });

  it("a recent run is named by its input, however large its output is", async () => {
    const vectors = Array.from({ length: 40 }, () => Array.from({ length: 64 }, Math.random));
    const texts = Array.from({ length: 400 }, (_, n) => `A sentence for the embedding ${n}`);
    const { look } = await withOutputs([
      { input: { prompt: "Few words" }, output: "much ".repeat(20_000) },
      { input: { input: ["A cat", "A dog"] }, output: vectors },
      { input: { input: texts }, output: "short" },
      { input: { prompt: "Too much. ".repeat(10_000) }, output: "short" },
    ]);
    const html = await look("/runs");
    expect(html).toContain("Few words");
    expect(html).toContain("A cat, A dog");
    expect(html).toContain("A sentence for the embedding 0, A sentence");
    expect(html).not.toContain("Too much");
  });

  it("recent runs are only the user's own, of this model", async () => {
    const [one, other] = await Promise.all([withRuns({ prompt: "mine" }), withRuns({})]);
    expect(await other.look("/runs")).not.toContain("mine");
    const { html } = await other.who.visitor.look(`${one.address}/runs`);
    expect(html).toMatch(/<nav[^>]*data-recent[^>]*hidden/);
    expect(html).not.toContain("mine");
  });

  it("a recent run of the form beside another view links back to the form", async () => {
    const { ids, address, look } = await withRuns({ prompt: "A fox" });
    const link = `<a href="${address}?prediction=${ids[0]}&amp;view=form">`;
    expect(await look("/runs?view=form")).toContain(link);
  });

  it("a recent run stays in the list after its data was removed", async () => {
    const { who, ids, look } = await withRuns({ prompt: "forgotten" });
    await who.client.ok("DELETE", `/v1/predictions/${ids[0]}`);
    const html = await look("/runs");
    expect(html).toContain(`Run …${ids[0]?.slice(-4)}`);
    expect(html).not.toContain("forgotten");
  });
});

describe("two runs", () => {
  it("two runs are compared: differences are marked, and the rest is folded", async () => {
    const { ids, look } = await withRuns(
      { prompt: "A red fox", width: 64 },
      { prompt: "A blue fox", width: 64, seed: 7 },
    );
    const html = await look(`?prediction=${ids[0]}&compare=${ids[1]}`);
    expect(html).toContain("A <mark>red</mark> fox");
    expect(html).toContain("A <mark>blue</mark> fox");
    expect(html).toContain("The same in both: width");
    expect(html).toMatch(/seed <small>differs<\/small>.*not given.*7/s);
    for (const id of ids) expect(html).toContain(`data-prediction="${id}"`);
    expect(html).toContain('<th scope="row">Price</th><td data-label="A">–</td>');
  });

  it("compared runs have a price where the operator has set one", async () => {
    const { who, ids, look } = await withRuns({ a: 1 }, { a: 2 });
    const page = () => look(`?prediction=${ids[0]}&compare=${ids[1]}`);
    await env.DB.prepare("UPDATE hardware SET price_per_hour = 3600").run();
    expect(await page()).toContain('<th scope="row">Price</th><td data-label="A">$2.00</td>');
    const own = (await who.visitor.look(`/predictions/${ids[0]}`)).html;
    expect(own).toMatch(/<dt>price<\/dt><dd>[^/]*\$2\.00/);
    await env.DB.prepare("UPDATE hardware SET price_per_hour = NULL").run();
  });

  it("compared runs have to be the user's own and of this model", async () => {
    const [one, other] = await Promise.all([withRuns({}), withRuns({})]);
    const [mine, theirs] = [one.ids[0], other.ids[0]];
    const status = async (query: string) =>
      (await one.who.visitor.look(`${one.address}?${query}`)).status;
    expect(await status(`prediction=${mine}&compare=${theirs}`)).toBe(404);
    expect(await status(`prediction=${theirs}&compare=${mine}`)).toBe(404);
    const elsewhere = `${other.address}?prediction=${mine}&compare=${mine}`;
    expect((await one.who.visitor.look(elsewhere)).status).toBe(404);
    expect(await one.look("?compare=")).toContain("Two runs are needed");
  });
});
