/** Whatever the playground shows of a run at a moment fits together, in each of its views, far from the server. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { runnerState } from "../../src/protocol/fleet.ts";
import { inTurn, type Moment, Moments } from "./support/moments.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

const WHO = "lena";
/** Until the runner has told that it does. */
const PATIENCE = { timeout: 20_000, interval: 100 };

let site: Site;
let models: string;

beforeAll(async () => {
  site = await Site.open();
  const [runner] = await Promise.all([site.world.runner("box"), site.clientOf(WHO)]);
  models = join(site.world.folder, runner.name, "models");
});
afterEach(() => site.leave());
afterAll(() => site.close());

const open = (gate: string) => writeFileSync(join(models, "gated", `.${gate}`), "");

async function turn(action: "drain" | "resume"): Promise<void> {
  const [state] = await site.world.runnerStates();
  await site.world.operator.call(runnerState, "POST", `/operator/runners/${state?.id}/${action}`);
  const isIt = action === "drain" ? "draining" : "ready";
  await vi.waitFor(
    async () => expect((await site.world.runnerStates())[0]?.state).toBe(isIt),
    PATIENCE,
  );
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
  const OVER = ["succeeded", "failed", "canceled"];

  function expectSense(moments: Moment<keyof typeof PLACES>[]): void {
    const all = moments.filter(({ status }) => status.length > 0);
    expect(all.length).toBeGreaterThan(3);
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
  ])("makes sense at every moment of a run that %s", async (_, { gate, before }, end) => {
    const visitor = await site.visitor({ as: WHO });
    const { page } = visitor;
    const moments = await Moments.of(visitor, PLACES);
    await visitor.open(`/models/${OPERATOR}/gated`);
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
    ["is answered", ["One", " two"], "in all"],
    ["fails", ["One", false], "in all"],
    ["is stopped after a reload", ["One", null], "stopped"],
  ])("makes sense at every moment of a message that %s", async (_, outputs, end) => {
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
});

describe("the view of pictures", () => {
  const PLACES = {
    card: ".media-run .media-head a",
    busy: '.media-run[aria-busy="true"] .media-head a',
    note: ".media-note",
    problem: ".media-run .problem",
    cancel: ".media-run .media-head button",
    items: ".media-item a",
  };

  function expectSense(moments: Moment<keyof typeof PLACES>[]): void {
    const all = moments.filter(({ card }) => card.length > 0);
    expect(all.length).toBeGreaterThan(2);
    for (const { busy, note, problem, cancel, items } of all) {
      const says = JSON.stringify({ busy, note, problem, cancel, items });
      expect(cancel.length, says).toBe(busy.length);
      if (busy.length === 0 || items.length > 0) expect(note.join(), says).toBe("");
      if (items.length > 0) expect(problem, says).toEqual([]);
    }
  }

  async function running(visitor: Visitor): Promise<void> {
    await visitor.open(`/models/${OPERATOR}/brush`);
    await visitor.page.getByLabel("prompt").fill("a hill");
    await visitor.page.getByRole("button", { name: "Run", exact: true }).click();
  }

  it("makes sense at every moment of a run that waits, and is not running before it is", async () => {
    await turn("drain");
    const visitor = await site.visitor({ as: WHO });
    const { page } = visitor;
    const moments = await Moments.of(visitor, PLACES);
    await running(visitor);
    await page.getByText("Waiting for a machine…").waitFor();
    await turn("resume");
    await page.locator(".media-item img").waitFor();
    await page.locator('.media-run[aria-busy="false"]').waitFor();
    const seen = await moments.read();
    expectSense(seen);
    const notes = inTurn(seen.map(({ note }) => note.join()));
    expect(notes[0]).toBe("Waiting for a machine…");
    expect(notes.at(-1)).toBe("Running…");
    expect(notes.indexOf("Running…")).toBe(notes.length - 1);
  });

  it("offers to cancel again if that was refused", async () => {
    await turn("drain");
    const visitor = await site.visitor({ as: WHO });
    const { page } = visitor;
    const moments = await Moments.of(visitor, PLACES);
    await running(visitor);
    await page.getByText("Waiting for a machine…").waitFor();
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
