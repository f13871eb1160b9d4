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

  it("an output that is a file of this deployment is shown as picture, sound or video", async () => {
    const html = await shown([
      `${FILE}/out.png?expires=9999999999&signature=a`,
      `${FILE}/out.mp3?expires=9999999999&signature=a`,
      `${FILE}/out.mp4?expires=9999999999&signature=a`,
      `${FILE}/out.bin?expires=9999999999&signature=a`,
    ]);
    const path = FILE.replace(ORIGIN, "");
    expect(html).toContain(
      `<img src="${path}/out.png?expires=9999999999&amp;signature=a" alt="out.png"`,
    );
    expect(html).toContain(`<audio src="${path}/out.mp3`);
    expect(html).toContain(`<video src="${path}/out.mp4`);
    expect(html).toContain(
      `<a href="${path}/out.bin?expires=9999999999&amp;signature=a">out.bin</a>`,
    );
  });

  it.each([
    "https://elsewhere.example/out.png",
    `https://auspex.test.elsewhere.example/v1/files/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e/out.png`,
    `${ORIGIN}/v1/user/out.png`,
    `${ORIGIN}/v1/files/../user/out.png`,
    `${ORIGIN}:444/v1/files/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e/out.png`,
  ])("an output with another address is a link: %s", async (address) => {
    const html = await shown([address]);
    expect(html).toMatch(/<a href="[^"]+" rel="noopener noreferrer nofollow">/);
    expect(html).not.toContain("<img");
  });

  it.each(["javascript:alert(1)", "data:text/html,<script>", "https://a b.example/", "https://"])(
    "an output is no link without a web address: %s",
    async (text) => expect(await shown([text])).not.toContain("<a "),
  );

  it("an output is a list where the schema declares its texts as items", async () => {
    const items = { type: "array", items: { type: "string" }, "x-cog-array-type": "iterator" };
    expect((await shown(["a", "b"], items)).match(/<div class="output-item text">/g)).toHaveLength(
      2,
    );
    const text = { ...items, "x-cog-array-display": "concatenate" };
    expect(await shown(["a", "b"], text)).toContain('<div class="output-item text">ab</div>');
  });

  it("an output that is only an address is a link, in its original words", async () => {
    const typed = "http://Example.com:80/a/../b";
    const link = `<a href="http://example.com/b" rel="noopener noreferrer nofollow">${typed}</a>`;
    expect(await shown([typed])).toContain(link);
    expect(await shown([[typed]])).toContain(link);
  });

  it("an output in pieces is a text, whatever its pieces look like", async () => {
    for (const pieces of [
      ["https://", "docs", ".python", ".org"],
      ["https://Exam", "ple.com"],
      ["see ", "https://Example.com", "."],
    ])
      expect(await shown(pieces)).toContain(
        `<div class="output-item text">${pieces.join("")}</div>`,
      );
  });

  it("an output that goes on is a text, whatever its beginning looks like", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.output("https://docs");
    expect(await view(who, id)).toContain('<div class="output-item text">https://docs</div>');
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

  it("an output is a tree, whose long lists and inner parts are folded", async () => {
    const html = await shown([{ vector: [1], "<b>": null, list: Array(3).fill({}) }]);
    expect(html).toContain("<summary>3 fields</summary>");
    expect(html).toContain('<span class="key">&lt;b&gt;: </span><span class="null">null</span>');
    const long = await shown([Array.from({ length: 250 }, (_, n) => n)]);
    expect(long).toContain("<summary>250 items</summary>");
    expect(long).toContain('<span class="key">99: </span><span class="number">99</span>');
    expect(long).not.toContain('<span class="key">100: ');
    expect(long).toMatch(
      /<summary>150 more<\/summary><pre tabindex="0" data-from="100">\[\n {2}100,/,
    );
  });

  it("an output is a tree, whose small parts unfold without client code", async () => {
    const html = await shown([{ point: { x: 1, list: [true] } }]);
    expect(html).toContain(
      '<summary><span class="key">list: </span>1 item</summary><ul><li><span class="key">0: </span><span class="boolean">true</span>',
    );
  });

  it("embeddings are a table with their distances", async () => {
    const data = [
      [1, 0],
      [0, 2],
    ].map((embedding, index) => ({ object: "embedding", index, embedding }));
    const html = await shown([{ object: "list", data, model: "meaning" }]);
    expect(html).toContain("<caption>2 embeddings of 2 numbers</caption>");
    expect(html).toContain('<td class="number">2</td><td class="vector">0, 2</td>');
    expect(html).toContain('<td class="number near-0">1.000</td>');
    expect(html).toContain('<span class="key">model: </span><span class="string">');
  });

  it("rows of embeddings are named by their texts", async () => {
    const who = await newCustomer();
    const id = await who.waiting({ input: { model: "tiny", input: ["A <cat>", "A dog"] } });
    const { channel } = await (await who.runner()).work();
    const vectors = [Array(8).fill(0.5), Array(8).fill(1)];
    await channel.report([{ event: "output", data: vectors }], {
      status: "succeeded",
      output: "value",
    });
    const name = '<th scope="row">0 <bdi class="vector-text">A &lt;cat&gt;</bdi></th>';
    // The name is in the table, and in the table of distances.
    expect((await view(who, id)).split(name)).toHaveLength(3);
  });

  it("pictures in base64 are shown as pictures", async () => {
    const data = [{ b64_json: "iVBORw0KGgo=" }, { b64_json: "/9j/4AAQ" }];
    const html = await shown([{ created: 1, data }]);
    expect(html).toContain('<img src="data:image/png;base64,iVBORw0KGgo="');
    expect(html).toContain('<img src="data:image/jpeg;base64,/9j/4AAQ"');
  });

  it("an output of a chat is its text, in pieces or whole", async () => {
    const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
    const usage = { choices: [], usage: { total_tokens: 3 } };
    expect(await shown([chunk("Off with "), chunk("her head"), usage])).toContain(
      '<div class="output-item text">Off with her head</div>',
    );
    const whole = { choices: [{ message: { role: "assistant", content: "Nonsense!" } }] };
    expect(await shown([whole])).toContain('<div class="output-item text">Nonsense!</div>');
    const call = { choices: [{ delta: { tool_calls: [{ index: 0 }] } }] };
    expect(await shown([call])).toContain('<span class="key">choices: </span>1 item');
  });
});

describe("the output of a model of the OpenAI convention", () => {
  const whole = (message: object) => ({
    choices: [{ message: { role: "assistant", ...message } }],
  });
  const piece = (delta: object) => ({
    id: "1",
    choices: [{ index: 0, delta, finish_reason: null }],
  });
  const event = (type: string, rest: object) => ({ type: `response.${type}`, ...rest });
  const item = (text: string) => ({ type: "message", content: [{ type: "output_text", text }] });

  async function said(...values: object[]): Promise<string> {
    const html = await viewOfOutputs(values);
    return /<div data-output[^>]*>(.*?)<\/section>/s.exec(html)?.[1] ?? "";
  }

  it.each<[string, object[]]>([
    [
      "refusal, in pieces",
      [piece({ role: "assistant" }), piece({ refusal: "Off " }), piece({ refusal: "with" })],
    ],
    ["refusal", [whole({ content: null, refusal: "Off with" })]],
    [
      "reasoning, in pieces",
      [piece({ reasoning_content: "Off " }), piece({ content: "with", tool_calls: [] })],
    ],
    [
      "list of parts",
      [
        whole({
          content: [
            { type: "text", text: "Off " },
            { type: "text", text: "with" },
          ],
        }),
      ],
    ],
    ["text that is only told at its end", [event("output_text.done", { text: "Off with" })]],
    ["whole response", [event("completed", { response: { output: [item("Off with")] } })]],
    [
      "response told bit by bit and then whole",
      [
        event("created", { response: {} }),
        event("output_item.added", { item: item("") }),
        event("output_text.delta", { delta: "Off " }),
        event("output_text.delta", { delta: "with" }),
        event("output_text.done", { text: "Off with" }),
        event("content_part.done", { part: { type: "output_text", text: "Off with" } }),
        event("output_item.done", { item: item("Off with") }),
        event("completed", { response: { output: [item("Off with")] } }),
      ],
    ],
  ])("an output is shown: a %s", async (_, values) => {
    const html = await said(...values);
    expect(html).toContain('<div class="output-item text">Off with</div>');
    expect(html.match(/class="out/g)).toHaveLength(1);
  });

  it("an answer shows thoughts first", async () => {
    expect(await said(whole({ reasoning_content: "Hm.", content: "No." }))).toContain(
      '<div class="output-item text">Hm.\n\nNo.</div>',
    );
  });

  it("an answer of more than text stays a tree", async () => {
    const audio = await said(whole({ content: null, audio: { id: "a" } }));
    expect(audio).toContain('<span class="key">choices: </span>1 item');
    const call = { type: "function_call", name: "croquet", arguments: "{}" };
    const called = await said(
      event("function_call_arguments.delta", { delta: "{}" }),
      event("output_item.done", { item: call }),
      event("completed", { response: { output: [call] } }),
    );
    expect(called.match(/class="out/g)).toHaveLength(1);
    expect(await said(event("failed", { response: { error: {} } }))).toContain("failed");
  });

  it("an empty answer is shown as no output", async () => {
    const html = await said(piece({ role: "assistant", content: "" }), { choices: [], usage: {} });
    expect(html).toContain("The model returned no output.");
  });
});
