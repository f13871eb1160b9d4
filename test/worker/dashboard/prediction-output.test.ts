/** The output of a run on its page. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { ORIGIN } from "../support/client.ts";
import { newCustomer, view, viewOfOutputs } from "../support/customer.ts";
import { storeValue } from "../support/files.ts";

describe("the output of a model", () => {
  /** Returns the output section of a run with these outputs. */
  async function shown(values: object[] | string[], output?: object): Promise<string> {
    const html = await viewOfOutputs(values, output);
    return /<div data-output[^>]*>(.*?)<div data-part="note">/s.exec(html)?.[1] ?? "";
  }

  const FILE = `${ORIGIN}/v1/files/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e`;

  it("an output is text, whatever it looks like", async () => {
    const html = await shown(["<img src=x onerror=alert(1)>", "<script>alert(1)</script>"]);
    expect(html).not.toMatch(/<(img|script)/);
    expect(html).toContain("&lt;script&gt;");
  });

  it("an output is a list where the schema declares its texts as items", async () => {
    const items = { type: "array", items: { type: "string" }, "x-cog-array-type": "iterator" };
    expect((await shown(["a", "b"], items)).match(/<div class="output-item text">/g)).toHaveLength(
      2,
    );
    const text = { ...items, "x-cog-array-display": "concatenate" };
    expect(await shown(["a", "b"], text)).toContain('<div class="output-item text">ab</div>');
  });

  it("files inside an object are shown as files, too", async () => {
    const picture = `${FILE}/out.png?expires=9999999999&signature=a`;
    const html = await shown([
      { picture, mask: `${FILE}/mask.bin?expires=9999999999&signature=a` },
    ]);
    const path = FILE.replace(ORIGIN, "");
    expect(html).toContain(
      `<span class="key">picture: </span><figure class="output-item media"><a href="${path}/out.png`,
    );
    expect(html).toContain(
      `<span class="key">mask: </span><p class="output-item"><a href="${path}/mask.bin`,
    );
    const elsewhere = await shown([{ page: "https://elsewhere.example/a", note: "no address" }]);
    expect(elsewhere).toContain(
      '<a href="https://elsewhere.example/a" rel="noopener noreferrer nofollow">',
    );
    expect(elsewhere).toContain('<span class="string">&quot;no address&quot;</span>');
  });

  it("an output that is too large for a page is shown by its beginning", async () => {
    const who = await newCustomer();
    const large: [Json, string, string][] = [
      ["Off with her head! ".repeat(20_000), "Off with her head! Off with", "output.txt"],
      [`${"é".repeat(51_198)}x${"😀".repeat(80_000)}`, "éé", "output.txt"],
      [{ says: "x".repeat(400_000), list: [1] }, "{&quot;says&quot;:&quot;xxx", "output.json"],
      [Array(500).fill(Array(500).fill(0.25)), "[[0.25,0.25,", "output.json"],
    ];
    for (const [value, beginning, way] of large) {
      const id = await who.waiting();
      const runner = await who.runner();
      const { job, channel } = await runner.work();
      await channel.report([await storeValue(runner, job, value)], {
        status: "succeeded",
        output: "value",
      });
      const html = await view(who, id);
      expect(html).toContain(`<div class="output-item text">${beginning}`);
      expect(html.isWellFormed()).toBe(true);
      expect(html).toMatch(new RegExp(`<a href="/predictions/${id}/${way}"( download|>)`));
      expect(html.length).toBeLessThan(130_000);
      const json = await who.visitor.fetch(`/predictions/${id}/output.json`, {});
      expect(await json.json()).toEqual(value);
    }
  });

  it("a deeply nested output takes no more space than its text", async () => {
    const deep = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    const html = await shown([{ p: deep(120), q: [deep(110)] }, deep(130)]);
    expect(html.length).toBeLessThan(5_000);
    expect(html).toContain(`<pre tabindex="0" data-from="0">${"[".repeat(120)}`);
    const long = await shown([{ vector: Array(20_000).fill(0.5) }]);
    expect(long).toMatch(/Too large to expand here. <a href="\/predictions\/[\w-]+\/output.json">/);
  });
});
