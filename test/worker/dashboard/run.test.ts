/** A run as the server shows it, and the stream that goes on from there. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ORIGIN } from "../support/client.ts";
import { EventReader, eventsOf, named } from "../support/events.ts";
import { bytesOf, fileUrl, nobody, uploaded } from "../support/files.ts";
import { objectOf } from "../support/objects.ts";
import { type Customer, newCustomer } from "../support/runs.ts";

afterEach(() => {
  vi.useRealTimers();
});

const view = async ({ visitor }: Customer, id: string) =>
  (await visitor.look(`/predictions/${id}/view`)).html;

const lastIn = (html: string) => Number(/data-last="(\d+)"/.exec(html)?.[1]);

/** What is in the element with an attribute, as text. */
const textIn = (html: string, attribute: string) => {
  const [, inner = ""] =
    new RegExp(`<[^>]* ${attribute}[^>]*>(.*?)</(?:pre|section)>`, "s").exec(html) ?? [];
  return inner.replace(/<[^>]*>/g, "").replaceAll("&quot;", '"');
};

/** The names of the steps, with their state. */
const stepsIn = (html: string) =>
  [...html.matchAll(/<li class="(\w+)"[^>]*><span class="step">([^<]+)/g)].map(
    ([, state, name]) => `${name}: ${state}`,
  );

describe("while it goes on", () => {
  it("waits", async () => {
    const who = await newCustomer();
    const html = await view(who, await who.waiting());
    expect(html).not.toContain("<html");
    expect(html).toContain("data-live");
    expect(html).toContain("There is none yet.");
    expect(stepsIn(html)).toEqual([
      "Created: past",
      "Queued: current",
      "Setup: ahead",
      "Running: ahead",
      "First output: ahead",
      "Done: ahead",
    ]);
  });

  it("shows how far the container is, and what it prints", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const runner = await who.runner();
    const channel = await runner.connect(await runner.take());
    await channel.report([
      { event: "setup", data: { phase: "pulling", message: "layer 3 of 7", progress: 0.25 } },
      { event: "setup", data: { phase: "pulling", progress: 0.5, logs: "half\n" } },
    ]);
    const html = await view(who, id);
    expect(html).toContain("Fetching the image, 50 %");
    expect(html).toMatch(/<progress max="1" value="0.5"/);
    expect(textIn(html, "data-logs=")).toBe("\nhalf\n");
    expect(stepsIn(html)).toContain("Setup: current");
  });

  it("is followed from where the page ends, without losing or repeating a word", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.output("The ", "Queen ");
    const html = await view(who, id);
    expect(html).toContain('<div class="out text">The Queen </div>');
    const path = `/predictions/${id}/events?after_id=${lastIn(html)}`;
    const response = await who.visitor.fetch(path, { headers: { accept: "text/event-stream" } });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const reader = new EventReader(response.body);
    await channel.output("of ", "Hearts");
    expect(await reader.take(2)).toMatchObject([{ data: "of " }, { data: "Hearts" }]);
    await channel.succeed(".");
    expect(named(await reader.rest(), "output")).toEqual(["."]);
    expect(await view(who, id)).toContain('<div class="out text">The Queen of Hearts.</div>');
  });

  it("is followed from the last event that a browser had, which knows better than its address", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.succeed("a", "b");
    const from = async (headers: Record<string, string>, query = "") =>
      eventsOf(who.visitor.fetch(`/predictions/${id}/events${query}`, { headers }));
    const all = await from({});
    expect(all).toEqual(await eventsOf(who.client.stream(id)));
    expect(await from({ "last-event-id": "3" }, "?after_id=1")).toEqual(all.slice(3));
    const done = await who.visitor.fetch(`/predictions/${id}/events?after_id=${all.length}`, {});
    expect(done.status).toBe(204);
  });

  it("is asked every five minutes who follows it", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.output("a");
    const object = await objectOf(id);
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
    const path = `/predictions/${id}/events`;
    const stream = await who.visitor.fetch(path, {});
    const reading = new EventReader(stream.body).rest();
    await runInDurableObject(object, () => vi.advanceTimersByTimeAsync(290_000));
    await channel.output("b");
    await runInDurableObject(object, () => vi.advanceTimersByTimeAsync(11_000));
    const events = await reading;
    expect(named(events, "output")).toEqual(["a", "b"]);
    who.visitor.cookies.clear();
    const headers = { "last-event-id": `${events.at(-1)?.id}` };
    const { status, headers: answer } = await who.visitor.fetch(path, { headers });
    expect([status, answer.get("location")]).toEqual([
      303,
      `/sign-in?next=${encodeURIComponent(path)}`,
    ]);
  });
});

describe("when it has ended", () => {
  it("has its steps with their times, and its metrics", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.report(
      [
        { event: "output", data: { answer: 42 } },
        { event: "metrics", data: { output_tokens: 7 } },
      ],
      { status: "succeeded", output: "value", setup_seconds: 0.25, execution_seconds: 3 },
    );
    const html = await view(who, id);
    expect(stepsIn(html)).toEqual([
      "Created: past",
      "Queued: past",
      "Setup: past",
      "Running: past",
      "First output: past",
      "Succeeded: past",
    ]);
    expect(html).toContain("0.3 s");
    expect(html).toContain("3.0 s");
    expect(html).toContain("output tokens");
    expect(html).not.toContain("data-live");
    expect(html).toContain("1 field");
    expect(html).toContain('<span class="key">answer: </span><span class="number">42</span>');
  });

  it("says why it failed, and whose fault that is", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    const error = {
      source: "external" as const,
      message: "CUDA out of <memory>",
      detail: { gb: 80 },
    };
    await channel.report([{ event: "logs", data: "Traceback\n" }], {
      status: "failed",
      output: "none",
      error,
    });
    const html = await view(who, id);
    expect(html).toContain("The model failed:");
    expect(html).toContain("CUDA out of &lt;memory&gt;");
    expect(html).toContain('<span class="key">gb: </span>');
    expect(html).toMatch(/<details class="run-logs" open/);
  });

  it("leaves out what is too much for a page, and leads to all of it", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    const part = "x".repeat(100_000);
    await channel.output(part, part);
    await channel.output("y".repeat(100_000));
    await channel.succeed("end");
    const html = await view(who, id);
    expect(html).toContain(`<div class="out text">${part}${part}</div>`);
    expect(html).not.toMatch(/yy|end<\/div>/);
    expect(html).toMatch(/data-more="true">There is more than a page can show/);
    const response = await who.visitor.fetch(`/predictions/${id}/json`, {});
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual(await who.client.get(id));
  });

  it("shows the end of a long log, and how much of it there is before", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    const lines = Array.from({ length: 2_300 }, (_, n) => `line ${n}\n`).join("");
    await channel.report([{ event: "logs", data: lines }]);
    await channel.succeed();
    const html = await view(who, id);
    expect(html).toContain("300 earlier lines are not shown here");
    expect(textIn(html, "data-logs=")).toMatch(/^\nline 300\n/);
  });

  it("says that a line is there without its beginning", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    for (const part of ["a", "b", "c"]) {
      await channel.report([{ event: "logs", data: part.repeat(100_000) }]);
    }
    await channel.succeed();
    const html = await view(who, id);
    expect(html).toContain('data-logs-hidden="true">The beginning of this line is not shown here');
  });
});

describe("what a model puts out", () => {
  /** The output section of a run that has put out these. */
  async function shown(values: object[] | string[], output?: object): Promise<string> {
    const who = await newCustomer(output);
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    const events = values.map((data) => ({
      event: "output" as const,
      data: JSON.parse(JSON.stringify(data)),
    }));
    await channel.report(events, { status: "succeeded", output: "items" });
    const html = await view(who, id);
    return /<div data-output[^>]*>(.*?)<div data-part="note">/s.exec(html)?.[1] ?? "";
  }

  const FILE = `${ORIGIN}/v1/files/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e`;

  it("is text, whatever it looks like", async () => {
    const html = await shown(["<img src=x onerror=alert(1)>", "<script>alert(1)</script>"]);
    expect(html).not.toMatch(/<(img|script)/);
    expect(html).toContain("&lt;script&gt;");
  });

  it("is shown as picture, sound and film where it is a file of this deployment", async () => {
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
  ])("is a link elsewhere: %s", async (address) => {
    const html = await shown([address]);
    expect(html).toMatch(/<a href="[^"]+" rel="noopener noreferrer nofollow">/);
    expect(html).not.toContain("<img");
  });

  it.each(["javascript:alert(1)", "data:text/html,<script>", "https://a b.example/", "https://"])(
    "is no link when it is no address of the web: %s",
    async (text) => expect(await shown([text])).not.toContain("<a "),
  );

  it("is a list where the schema says that its texts are items", async () => {
    const items = { type: "array", items: { type: "string" }, "x-cog-array-type": "iterator" };
    expect((await shown(["a", "b"], items)).match(/<div class="out text">/g)).toHaveLength(2);
    const text = { ...items, "x-cog-array-display": "concatenate" };
    expect(await shown(["a", "b"], text)).toContain('<div class="out text">ab</div>');
  });

  it("is a link in the words that it was given in, when it is all that there is", async () => {
    const typed = "http://Example.com:80/a/../b";
    const link = `<a href="http://example.com/b" rel="noopener noreferrer nofollow">${typed}</a>`;
    expect(await shown([typed])).toContain(link);
    expect(await shown([[typed]])).toContain(link);
  });

  it("that comes in pieces is a text, whatever a piece of it looks like", async () => {
    for (const pieces of [
      ["https://", "docs", ".python", ".org"],
      ["https://Exam", "ple.com"],
      ["see ", "https://Example.com", "."],
    ])
      expect(await shown(pieces)).toContain(`<div class="out text">${pieces.join("")}</div>`);
  });

  it("that goes on is a text, whatever its beginning looks like", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.output("https://docs");
    expect(await view(who, id)).toContain('<div class="out text">https://docs</div>');
  });

  it("is as large as what it tells, however deep that is nested", async () => {
    const deep = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    const html = await shown([{ p: deep(150), q: [deep(4_000)] }, deep(6_000)]);
    expect(html.length).toBeLessThan(5_000);
    expect(html).toContain(`<pre tabindex="0" data-from="0">${"[".repeat(150)}`);
    expect(html.match(/It is too much to be unfolded here/g)).toHaveLength(2);
    const long = await shown([{ vector: Array(20_000).fill(0.5) }]);
    expect(long).toMatch(/too much to be unfolded here. <a href="\/predictions\/[\w-]+\/json">/);
  });

  it("is a tree, whose long lists and inner parts are folded", async () => {
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

  it("is what was said, of a chat in pieces or whole", async () => {
    const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
    const usage = { choices: [], usage: { total_tokens: 3 } };
    expect(await shown([chunk("Off with "), chunk("her head"), usage])).toContain(
      '<div class="out text">Off with her head</div>',
    );
    const whole = { choices: [{ message: { role: "assistant", content: "Nonsense!" } }] };
    expect(await shown([whole])).toContain('<div class="out text">Nonsense!</div>');
    const call = { choices: [{ delta: { tool_calls: [{ index: 0 }] } }] };
    expect(await shown([call])).toContain('<span class="key">choices: </span>1 item');
  });
});

describe("what a model of the vendora convention says", () => {
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
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    const events = values.map((data) => ({
      event: "output" as const,
      data: JSON.parse(JSON.stringify(data)),
    }));
    await channel.report(events, { status: "succeeded", output: "items" });
    const html = await view(who, id);
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
  ])("is shown: a %s", async (_, values) => {
    const html = await said(...values);
    expect(html).toContain('<div class="out text">Off with</div>');
    expect(html.match(/class="out/g)).toHaveLength(1);
  });

  it("is told thoughts first", async () => {
    expect(await said(whole({ reasoning_content: "Hm.", content: "No." }))).toContain(
      '<div class="out text">Hm.\n\nNo.</div>',
    );
  });

  it("stays a tree where it is more than words", async () => {
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

  it("that is nothing is said to be nothing", async () => {
    const html = await said(piece({ role: "assistant", content: "" }), { choices: [], usage: {} });
    expect(html).toContain("It has put out nothing.");
  });
});

describe("what it was given", () => {
  const page = async ({ visitor }: Customer, id: string) =>
    (await visitor.look(`/predictions/${id}`)).html;

  it("is there field by field, pictures as such", async () => {
    const who = await newCustomer();
    const dot = "data:image/png;base64,iVBORw0KGgo=";
    const id = await who.waiting({ input: { prompt: "<b>Alice</b>", steps: 20, mask: dot } });
    const html = await page(who, id);
    expect(html).toContain("<dt>prompt</dt>");
    expect(html).toContain("&lt;b&gt;Alice&lt;/b&gt;");
    expect(html).toContain("<code>20</code>");
    expect(html).toContain(`<img src="${dot}"`);
    expect(html).toContain(`/models/${who.model}/playground?run=${id}`);
  });

  it("has a new address for a file whose old one has expired, while it is there", async () => {
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

  it("shows an upload as the file that it is, and gives the same upload to the next run", async () => {
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
    const form = await who.visitor.look(`/models/${who.model}/playground?run=${id}`);
    expect(form.html).toContain(address);
    await who.visitor.look(`/predictions/${id}`);
    const { location = "" } = await who.visitor.send(`/predictions/${id}/retry`);
    const again = await who.client.get(location.replace("/predictions/", ""));
    expect(again.input).toEqual({ image: address, other: [`${ORIGIN}${address}`] });
  });

  it("of another is never shown as a file", async () => {
    const who = await newCustomer();
    const upload = await uploaded((await newCustomer()).client, bytesOf(10), {});
    const id = await who.waiting({ input: { text: `see /v1/uploads/${upload.id}` } });
    expect(await page(who, id)).not.toContain("/v1/files/");
  });

  it("is as large as what it tells, and left out where it is too deep", async () => {
    const who = await newCustomer();
    const deep = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    const nested = await who.waiting({ input: { p: deep(190), list: Array(6).fill(deep(190)) } });
    expect((await page(who, nested)).length).toBeLessThan(30_000);
    for (const levels of [3_000, 6_000]) {
      const text = "[".repeat(levels) + "]".repeat(levels);
      // As text: the platform that the tests run on does not write values that are so deep either.
      const body = `{"model": "${who.model}", "input": {"p": ${text}}}`;
      const response = await who.client.post("/v1/predictions", body);
      const id = response.headers.get("location")?.split("/").at(-1) ?? expect.fail("no address");
      expect(await page(who, id)).toContain("It is too large for a page.");
      const form = await who.visitor.look(`/models/${who.model}/playground?run=${id}`);
      expect([form.status, form.html.length < 60_000]).toEqual([200, true]);
    }
  });

  it("is left out when it is too large for a page", async () => {
    const who = await newCustomer();
    const html = await page(who, await who.waiting({ input: { text: "z".repeat(300_000) } }));
    expect(html).toContain("It is too large for a page.");
    expect(html).not.toContain("zzz");
  });
});
