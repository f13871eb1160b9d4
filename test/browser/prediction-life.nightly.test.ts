/** The page of a run at every moment, far from the server: its status, buttons and output agree. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/dev/client.ts";
import { runnerState } from "../../src/protocol/fleet.ts";
import { prediction } from "../../src/protocol/prediction.ts";
import type { Runner } from "../journey/support/runner.ts";
import { inTurn, type Moment, Moments } from "./support/moments.ts";
import { createWith } from "./support/prediction-page.ts";
import { OPERATOR, Site } from "./support/site.ts";

const WHO = "lena";
const PLACES = {
  status: ".prediction-view .status",
  buttons: ".prediction-view button",
  note: '.prediction-view [data-part="note"]',
  output: ".prediction-view [data-output]",
};

let site: Site;
let client: Client;
let runner: Runner;

beforeAll(async () => {
  site = await Site.shared();
  [runner, client] = await Promise.all([site.world.runner("box"), site.clientOf(WHO)]);
});
afterEach(() => site.leave());
afterAll(() => site.close());

const create = (model: string, input: object) => createWith(client, model, input);

const open = (gate: string) => runner.open("gated", gate);

async function turn(action: "drain" | "resume"): Promise<void> {
  const [state] = await site.world.runnerStates();
  await site.world.operator.call(runnerState, "POST", `/operator/runners/${state?.id}/${action}`);
}

async function watching() {
  const visitor = await site.visitor({ as: WHO });
  return { visitor, moments: await Moments.of(visitor, PLACES) };
}

/** Returns the moments from the first one in which the view is there. */
const read = async (moments: Moments<keyof typeof PLACES>) =>
  (await moments.read()).filter(({ status }) => status.length > 0);

function expectSense(moments: Moment<keyof typeof PLACES>[], end: string): void {
  const over = ["succeeded", "failed", "canceled"];
  for (const moment of moments) {
    const { buttons } = moment;
    const [status, note, output] = [moment.status.join(), moment.note.join(), moment.output.join()];
    const isOver = over.includes(status);
    const says = JSON.stringify(moment);
    expect(["pending", "started", ...over], says).toContain(status);
    expect(buttons.includes("Run again"), says).toBe(isOver);
    if (isOver) expect(buttons.join(), says).not.toMatch(/Cancel/);
    if (output !== "") expect(note, says).toBe("");
    if (note === "No output yet.") expect([isOver, output], says).toEqual([false, ""]);
  }
  const statuses = inTurn(moments.map(({ status }) => status.join()));
  expect(
    ["pending,started", "started", ""].map((before) => [before, end].filter(Boolean).join()),
  ).toContain(statuses.join());
  expect(moments.length).toBeGreaterThan(3);
}

it("the page of a run that outputs pieces and succeeds makes sense at every moment", async () => {
  const id = await create("gated", { before: [], gate: "first", after: ["a", "b"] });
  const { visitor, moments } = await watching();
  await visitor.open(`/predictions/${id}`);
  await visitor.page.locator(".timeline .current, .timeline li").first().waitFor();
  open("first");
  await visitor.page.getByRole("button", { name: "Run again" }).waitFor();
  const seen = await read(moments);
  expectSense(seen, "succeeded");
  expect(seen.at(-1)?.output.join()).toMatch(/^ab?\s*b?$/);
  const isShown = ({ output, status }: (typeof seen)[number]) =>
    output.join() !== "" && status.join() === "started";
  expect(seen.some(isShown)).toBe(true);
});

it("the page shows no end before the rest of the output has come", async () => {
  const id = await create("gated", { before: [], gate: "ahead", after: ["a"] });
  const { visitor, moments } = await watching();
  const { page } = visitor;
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  let streams = 0;
  await page.route("**/events?*", async (route) => {
    if (streams++ > 0) {
      await goesOn;
      return route.continue();
    }
    open("ahead");
    const ends = () => client.call(prediction, "GET", `/predictions/${id}`);
    await expect.poll(async () => (await ends()).status).toBe("succeeded");
    // The step makes the page ask the server, which knows the end by now; the stream then brings nothing
    // more.
    const after = new URL(route.request().url()).searchParams.get("after_id");
    const step = `id: ${after}\nevent: setup\ndata: {"phase":"starting"}\n\n`;
    await route.fulfill({ contentType: "text/event-stream", body: `retry: 50\n\n${step}` });
  });
  const answered = page.waitForResponse("**/view");
  await visitor.open(`/predictions/${id}`);
  await (await answered).finished();
  goOn();
  await page.getByRole("button", { name: "Run again" }).waitFor();
  const ended = (await read(moments)).filter(({ status }) => status.join() === "succeeded");
  expect(ended.map(({ output }) => output.join())).toEqual(ended.map(() => "a"));
  await page.unroute("**/events?*");
});

it("the page of a run that is canceled in the middle makes sense at every moment", async () => {
  await turn("drain");
  const id = await create("gated", { before: ["a"], gate: "never" });
  const { visitor, moments } = await watching();
  await visitor.open(`/predictions/${id}`);
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  // The answer to an earlier request arrives after the cancel.
  await visitor.page.route(
    "**/view",
    async (route) => {
      const response = await route.fetch();
      await asked;
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  await turn("resume");
  await visitor.page.locator("[data-output]").getByText("a", { exact: true }).waitFor();
  await visitor.page.getByRole("button", { name: "Cancel" }).click();
  await visitor.page.getByRole("button", { name: "Canceling…" }).waitFor();
  ask();
  await visitor.page.getByRole("button", { name: "Run again" }).waitFor();
  // The end of the stream announces the status, maybe after the answer that the page asked for.
  await visitor.page
    .locator("[data-announce]", { hasText: /^Status: canceled$/ })
    .waitFor({ state: "attached" });
  const seen = await read(moments);
  expectSense(seen, "canceled");
  const since = seen.findIndex(({ buttons }) => buttons.includes("Canceling…"));
  expect(since).toBeGreaterThan(0);
  expect(seen.slice(since).flatMap(({ buttons }) => buttons)).not.toContain("Cancel");
});

it("the first steps follow the newest run without a reload", async () => {
  // A run by a call would already have completed the steps.
  const visitor = await site.visitor({ as: "stella" });
  await visitor.open(`/models/${OPERATOR}/gated`);
  await visitor.page.getByText("More options").click();
  await visitor.page.getByLabel("gate optional").fill("steps");
  await visitor.page.getByRole("button", { name: "Run", exact: true }).click();
  await visitor.page.getByRole("button", { name: "Cancel" }).waitFor();
  await visitor.open("/");
  const step = visitor.page.locator('[data-part="Run it"]');
  await step.getByText(/pending|started/).waitFor();
  open("steps");
  await step.getByText("succeeded").waitFor();
});
