/** The page of a run, and the stream that continues it. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { logLinesIn, newCustomer, view } from "../support/customer.ts";
import { EventReader, eventsOf, named } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { objectOf } from "../support/objects.ts";
import { advance } from "../support/time.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Returns the names of the steps, with their states. */
const stepsIn = (html: string) =>
  [...html.matchAll(/<li class="(\w+)"[^>]*><span class="step">([^<]+)/g)].map(
    ([, state, name]) => `${name}: ${state}`,
  );

describe("a run that goes on", () => {
  it("a run shows why it waits, unless that is soon over", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const who = await newCustomer();
    const id = await who.waiting();
    const why = async () => {
      // The part that client code asks for is the one in the page.
      const { html } = await who.visitor.look(`/predictions/${id}/why`);
      expect(await view(who, id)).toContain(html);
      return html;
    };
    const said = async () =>
      /class="([^"]*)" data-why[^>]*>No \S+ runner is accepting work/.exec(await why())?.[1];
    // The page shows it without client code as well.
    await eventually(async () => expect(await said()).toBe("hint shown-after-2-s"));
    vi.setSystemTime(Date.now() + 3_000);
    expect(await said()).toBe("hint");
    const { channel } = await (await who.runner()).work();
    await channel.report([{ event: "setup", data: { phase: "pulling" } }]);
    expect(await said()).toBeUndefined();
  });

  it("a run shows how far its container is, and what it prints", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const runner = await who.runner();
    const channel = await runner.connect(await runner.take());
    await channel.report([
      { event: "setup", data: { phase: "pulling", message: "layer 3 of 7", progress: 0.25 } },
      { event: "setup", data: { phase: "pulling", progress: 0.5, logs: "half\n" } },
    ]);
    const html = await view(who, id);
    expect(html).toContain("Pulling the image, 50%");
    expect(html).toMatch(/<progress max="1" value="0.5"/);
    expect(logLinesIn(html)).toEqual(["half"]);
    expect(stepsIn(html)).toContain("Setup: current");
  });

  it("a stream continues after the browser's last event, which overrides the address", async () => {
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

  it("a stream ends after five minutes, so that its reader is checked again", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    await channel.output("a");
    const object = await objectOf(id);
    // The alarm is half a minute away: at a moved time it would find the runner lost.
    await runDurableObjectAlarm(object);
    vi.useFakeTimers({ toFake: ["Date"] });
    timersFollowClock();
    const path = `/predictions/${id}/events`;
    const stream = await who.visitor.fetch(path, {});
    const reading = new EventReader(stream.body).rest();
    advance(290);
    await channel.report([
      { event: "output", data: "b" },
      { event: "metrics", data: { seen: 2 } },
    ]);
    advance(11);
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

describe("a run that has ended", () => {
  it("a run has its steps with their times, and its metrics", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const runner = await who.runner();
    const channel = await runner.connect(await runner.take());
    await channel.report(
      [
        { event: "setup", data: { phase: "ready" } },
        { event: "output", data: { answer: 42 } },
        { event: "metrics", data: { output_tokens: 7, predict_time: 2.5 } },
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
    expect(html).toContain("<dt>output tokens</dt><dd>7</dd>");
    expect(html).toContain("<dt>predict time</dt><dd>2.5 s</dd>");
    expect(html).not.toContain("data-live");
    expect(html).toContain("1 field");
    expect(html).toContain('<span class="key">answer: </span><span class="number">42</span>');
  });

  it("a run leaves out what is too much for a page, and links to all of it", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    const part = "x".repeat(100_000);
    await channel.output(part, part);
    await channel.output("y".repeat(100_000));
    await channel.succeed("end");
    const html = await view(who, id);
    // The first 100 KB are shown, and the rest is folded.
    expect(html).toContain(
      `<div class="output-item text">${part}${"x".repeat(2_400)}</div><details`,
    );
    expect(html).toContain("<summary>Show the next 96 KB</summary>");
    expect(html).not.toMatch(/yy|end<\/div>/);
    expect(html).toMatch(/data-more="true">Output truncated/);
    const text = await who.visitor.fetch(`/predictions/${id}/output.txt`, {});
    expect(text.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await text.text()).toBe(`${part}${part}${"y".repeat(100_000)}end`);
    const response = await who.visitor.fetch(`/predictions/${id}/json`, {});
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual(await who.client.get(id));
  });

  it("a log has colors and times", async () => {
    const who = await newCustomer();
    const id = await who.waiting();
    const { channel } = await (await who.runner()).work();
    const logs = "INFO: \u001b[32mloaded\u001b[0m <weights>\nWARNING: slow\n\u001b]0;title";
    await channel.report([{ event: "logs", data: logs }]);
    await channel.succeed();
    const html = await view(who, id);
    expect(logLinesIn(html)).toEqual(["INFO: loaded &lt;weights&gt;", "WARNING: slow"]);
    expect(html).toContain('<b class="fg-2">loaded</b>');
    expect(html).toMatch(/<span class="line" data-level="info"><time datetime="20/);
  });
});
