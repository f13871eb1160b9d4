/**
 * The playground's display of a run at every moment, in each of its views, far from the server: its parts
 * agree.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { runnerState } from "../../src/protocol/fleet.ts";
import { prediction } from "../../src/protocol/prediction.ts";
import type { Runner } from "../journey/support/runner.ts";
import { inTurn, type Moment, Moments } from "./support/moments.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

const WHO = "lena";
/** Patience until the runner has reported that it is drained or resumed. */
const PATIENCE = { timeout: 20_000, interval: 100 };

let site: Site;
let runner: Runner;

beforeAll(async () => {
  site = await Site.shared();
  [runner] = await Promise.all([site.world.runner("box"), site.clientOf(WHO)]);
});
afterEach(() => site.leave());
afterAll(() => site.close());

const open = (gate: string) => runner.open("gated", gate);

async function turn(action: "drain" | "resume"): Promise<void> {
  const [state] = await site.world.runnerStates();
  await site.world.operator.call(runnerState, "POST", `/operator/runners/${state?.id}/${action}`);
  const isIt = action === "drain" ? "draining" : "ready";
  await vi.waitFor(
    async () => expect((await site.world.runnerStates())[0]?.state).toBe(isIt),
    PATIENCE,
  );
}

const OVER = ["succeeded", "failed", "canceled"];
const newest = z.object({ items: z.array(prediction) });

/** Waits until the user's last run is over, whether or not the page knows it. */
async function over(): Promise<void> {
  const client = await site.clientOf(WHO);
  await vi.waitFor(async () => {
    const { items } = await client.call(newest, "GET", "/predictions?page_size=5");
    expect(OVER).toContain(items[0]?.status);
  }, PATIENCE);
}

const AWAY = ["is in the background", "has lost its connection"] as const;
const INTERRUPTED = ["is reloaded", ...AWAY] as const;

/** Runs `act` while the page gets no news. */
async function unheard(
  moments: Moments<string>,
  why: (typeof AWAY)[number],
  act: () => Promise<void>,
): Promise<void> {
  const isHidden = why === "is in the background";
  await (isHidden ? moments.leaveTab() : moments.unplug());
  await act();
  await (isHidden ? moments.comeBack() : moments.plugIn());
}

describe("the form", () => {
  const PLACES = {
    status: ".prediction-head .status",
    recent: '[data-recent] [aria-current="page"] .status .visually-hidden',
    buttons: ".prediction-view button",
    note: '[data-part="note"] p',
    output: "[data-output] .output-item",
    problem: ".prediction-view .problem",
  };
  function expectSense(moments: Moment<keyof typeof PLACES>[], atLeast = 4): void {
    const all = moments.filter(({ status }) => status.length > 0);
    expect(all.length).toBeGreaterThanOrEqual(atLeast);
    for (const moment of all) {
      const says = JSON.stringify(moment);
      const { status, recent, buttons, note, output, problem } = moment;
      const isOver = OVER.includes(status.join());
      expect(buttons.includes("Run again"), says).toBe(isOver);
      expect(buttons.join().includes("Cancel"), says).toBe(!isOver && buttons.length > 0);
      if (output.join("") !== "") expect(note, says).toEqual([]);
      if (problem.length > 0) expect(status, says).toEqual(["failed"]);
      if (recent.length > 0) expect(recent, says).toEqual(status);
    }
  }

  it.each([
    ["succeeds", { gate: "form", before: "a" }, "succeeded"],
    ["is cancelled", { gate: "never", before: "a" }, "canceled"],
  ])("the form makes sense at every moment of a run that %s", async (_, { gate, before }, end) => {
    const visitor = await site.visitor({ as: WHO });
    const { page } = visitor;
    const moments = await Moments.of(visitor, PLACES);
    await visitor.open(`/models/${OPERATOR}/gated`);
    await page.getByText("More options").click();
    await page.getByLabel("gate optional").fill(gate);
    await page.getByLabel("before optional").fill(before);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator("[data-output]").getByText("a", { exact: true }).waitFor();
    if (end === "canceled") await page.getByRole("button", { name: "Cancel" }).click();
    else open(gate);
    await page.getByRole("button", { name: "Run again" }).waitFor();
    await page.locator('[data-recent] [aria-current="page"]').getByText(end).waitFor();
    expectSense(await moments.read());
  });

  it.each(INTERRUPTED)(
    "the form makes sense at every moment of a run that ends while the page %s",
    async (why) => {
      const visitor = await site.visitor({ as: WHO });
      const { page } = visitor;
      const moments = await Moments.of(visitor, PLACES);
      await visitor.open(`/models/${OPERATOR}/gated`);
      await page.getByText("More options").click();
      await page.getByLabel("gate optional").fill(why);
      await page.getByLabel("before optional").fill("a");
      await page.getByLabel("after optional").fill("b");
      await page.getByRole("button", { name: "Run", exact: true }).click();
      const output = page.locator("[data-output]");
      await output.getByText("a", { exact: true }).waitFor();
      expectSense(await moments.read(), 1);
      const ends = () => {
        open(why);
        return over();
      };
      if (why === "is reloaded") await Promise.all([page.reload(), ends()]);
      else await unheard(moments, why, ends);
      await page.getByRole("button", { name: "Run again" }).waitFor();
      await page.locator('[data-recent] [aria-current="page"]').getByText("succeeded").waitFor();
      expectSense(await moments.read(), 1);
      expect((await output.innerText()).match(/[ab]/g)).toEqual(["a", "b"]);
    },
  );
});

describe("a chat", () => {
  const PLACES = {
    busy: '.turn.assistant[aria-busy="true"] .prose',
    text: ".turn.assistant .prose",
    note: ".turn-note",
    problem: ".turn .problem",
    foot: ".turn.assistant .turn-foot small",
    stop: "[data-stop]",
    send: "[data-send]",
    // The status of the newest run.
    recent: "[data-recent] li:first-child .status .visually-hidden",
  };

  function expectSense(moments: Moment<keyof typeof PLACES>[]): void {
    const all = moments.filter(({ text }) => text.length > 0);
    expect(all.length).toBeGreaterThan(2);
    for (const moment of all) {
      const says = JSON.stringify(moment);
      const isBusy = moment.busy.length > 0;
      expect([moment.stop.length, moment.send.length], says).toEqual(isBusy ? [1, 0] : [0, 1]);
      expect(moment.foot.length, says).toBe(isBusy ? 0 : 1);
      if (isBusy) expect(moment.problem, says).toEqual([]);
      else expect(moment.note, says).toEqual([]);
      if (!isBusy && moment.recent.length > 0) expect(OVER, says).toContain(moment.recent[0]);
    }
    const texts = all.map(({ text }) => text.join());
    for (const [n, text] of texts.slice(1).entries())
      expect(text.startsWith(texts[n] ?? ""), `${texts[n]} → ${text}`).toBe(true);
  }

  async function saying(visitor: Visitor, outputs: unknown[]): Promise<void> {
    await visitor.page.getByRole("textbox", { name: "Message" }).fill(JSON.stringify(outputs));
    await visitor.page.keyboard.press("Enter");
  }

  it.each([
    ["is answered", ["One", " two"], "total"],
    ["fails", ["One", false], "total"],
    ["is stopped after a reload", ["One", null], "stopped"],
  ])("the chat makes sense at every moment of a message that %s", async (_, outputs, end) => {
    const visitor = await site.visitor({ as: WHO });
    const { page } = visitor;
    const moments = await Moments.of(visitor, PLACES);
    await visitor.open(`/models/${OPERATOR}/reciter`);
    await saying(visitor, outputs);
    await page.locator(".turn.assistant").getByText("One").waitFor();
    if (end === "stopped") {
      expectSense(await moments.read());
      await page.reload();
      await page.getByRole("button", { name: "Stop" }).click();
    }
    await page.locator(".turn-foot", { hasText: end }).waitFor();
    expectSense(await moments.read());
  });

  it.each(AWAY)(
    "the chat makes sense at every moment of a message that is answered while the page %s",
    async (why) => {
      await turn("drain");
      const visitor = await site.visitor({ as: WHO });
      const moments = await Moments.of(visitor, PLACES);
      await visitor.open(`/models/${OPERATOR}/reciter`);
      await saying(visitor, ["One", " two"]);
      await visitor.page.getByText("Waiting for a runner…").waitFor();
      await unheard(moments, why, async () => {
        await turn("resume");
        await over();
      });
      await visitor.page.locator(".turn-foot", { hasText: "total" }).waitFor();
      const seen = await moments.read();
      expectSense(seen);
      expect(seen.at(-1)?.text).toEqual(["One two"]);
    },
  );
});

describe("the view of pictures", () => {
  const PLACES = {
    card: ".media-run .media-head a",
    busy: '.media-run[aria-busy="true"] .media-head a',
    note: ".media-note",
    problem: ".media-run .problem",
    cancel: ".media-run .media-head button",
    items: ".media-item a",
    // The status of the newest run.
    recent: "[data-recent] li:first-child .status .visually-hidden",
  };

  function expectSense(moments: Moment<keyof typeof PLACES>[], atLeast = 3): void {
    const all = moments.filter(({ card }) => card.length > 0);
    expect(all.length).toBeGreaterThanOrEqual(atLeast);
    for (const { busy, note, problem, cancel, items, recent } of all) {
      const says = JSON.stringify({ busy, note, problem, cancel, items, recent });
      expect(cancel.length, says).toBe(busy.length);
      if (busy.length === 0 || items.length > 0) expect(note.join(), says).toBe("");
      if (items.length > 0) expect(problem, says).toEqual([]);
      if (recent.length === 0) continue;
      if (busy.length === 0) expect(OVER, says).toContain(recent[0]);
      if (/Running/.test(note.join())) expect(recent, says).not.toEqual(["pending"]);
    }
    expect(all.some(({ recent }) => recent.length > 0)).toBe(true);
  }

  async function running(visitor: Visitor): Promise<void> {
    await visitor.open(`/models/${OPERATOR}/image`);
    await visitor.page.getByLabel("prompt").fill("a hill");
    await visitor.page.getByRole("button", { name: "Run", exact: true }).click();
  }

  it("the view makes sense at every moment of a run that waits, and shows it as running only when it runs", async () => {
    await turn("drain");
    const visitor = await site.visitor({ as: WHO });
    const { page } = visitor;
    const moments = await Moments.of(visitor, PLACES);
    await running(visitor);
    await page.getByText("Waiting for a runner…").waitFor();
    await page.getByText("No cpu runner is accepting work.").waitFor();
    await turn("resume");
    await page.locator(".media-item img").waitFor();
    await page.locator('.media-run[aria-busy="false"]').waitFor();
    const seen = await moments.read();
    expectSense(seen);
    const notes = inTurn(seen.map(({ note }) => note.join()));
    expect(notes[0]).toBe("Waiting for a runner…");
    expect(notes.at(-1)).toBe("Running…");
    expect(notes.indexOf("Running…")).toBe(notes.length - 1);
  });

  // A tab in the background uses the streams in the same way as a chat, whose test covers it.
  it.each(["is reloaded", "has lost its connection"] as const)(
    "the view makes sense at every moment of a run that ends while the page %s",
    async (why) => {
      await turn("drain");
      const visitor = await site.visitor({ as: WHO });
      const { page } = visitor;
      const moments = await Moments.of(visitor, PLACES);
      await running(visitor);
      await page.getByText("Waiting for a runner…").waitFor();
      expectSense(await moments.read(), 1);
      const ends = async () => {
        await turn("resume");
        await over();
      };
      if (why === "is reloaded") await Promise.all([page.reload(), ends()]);
      else await unheard(moments, why, ends);
      await page.locator(".media-item img").waitFor();
      await page.locator('.media-run[aria-busy="false"]').waitFor();
      expectSense(await moments.read(), 1);
    },
  );

  it("the view offers to cancel again after a refused cancel", async () => {
    await turn("drain");
    const visitor = await site.visitor({ as: WHO });
    const { page } = visitor;
    const moments = await Moments.of(visitor, PLACES);
    await running(visitor);
    await page.getByText("Waiting for a runner…").waitFor();
    await page.route("**/cancel", (route) => route.fulfill({ status: 503 }), { times: 1 });
    visitor.expects(503, /\/cancel$/);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".media-run .problem").waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.locator(".media-run").getByText("Canceled.").waitFor();
    expectSense(await moments.read());
    await turn("resume");
  });
});
