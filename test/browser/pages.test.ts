/** Every page, as different people see it: on a desktop and on a phone, in light and dark. */
import { createHash } from "node:crypto";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Client } from "../../src/dev/client.ts";
import { budget as budgetShape } from "../../src/protocol/budget.ts";
import { pageOf } from "../../src/protocol/common.ts";
import { example } from "../../src/protocol/example.ts";
import { runnerState } from "../../src/protocol/fleet.ts";
import { MEDIA_TYPES } from "../../src/protocol/oci.ts";
import { newToken, token as tokenShape } from "../../src/protocol/operator.ts";
import { newOrganizationInvitation, organization } from "../../src/protocol/organization.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { webhookEndpoint, webhookEvent } from "../../src/protocol/webhook.ts";
import { SAMPLE } from "../journey/support/duotone.ts";
import { uploadFile } from "../journey/support/upload-file.ts";
import { sized } from "../support/sized.ts";
import { isRepetition, PAGES, type PageContent } from "./support/pages.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

/** No receiver listens on port 1. */
const NO_RECEIVER = "http://127.0.0.1:1/hooks";

const MODEL = `${OPERATOR}/text-generation`;

let site: Site;
let owner: Client;
let things: PageContent;

beforeAll(async () => {
  site = await Site.shared();
  await site.world.runner("one");
  owner = await site.clientOf(OPERATOR);
  const newcomer = await site.visitor({ as: "newcomer" });
  await newcomer.open("/models/new");
  await newcomer.page.getByLabel(/^Name/).fill("bare");
  await newcomer.page.getByRole("button", { name: "Create model" }).click();
  await newcomer.arrives(/^\/models\/newcomer\/bare/);
  await site.leave();
  const endpoint = await makeEndpoint();
  const body = { value: "a secret of nobody's business" };
  await owner.fetch("PUT", `/models/${MODEL}/variables/API_KEY`, { body });
  const newcomersClient = await site.clientOf("newcomer");
  const bare = `/models/newcomer/bare/collaborators/${OPERATOR}`;
  await newcomersClient.fetch("PUT", bare, { body: { level: "write" } });
  const ours = `/models/${MODEL}/collaborators/newcomer`;
  await owner.fetch("PUT", ours, { body: { level: "run" } });
  await pushImage(await site.tokenOf(OPERATOR), MODEL, "v2");
  const runs = await makeRuns();
  const runners = await site.world.operator.call(pageOf(runnerState), "GET", "/operator/runners");
  const runner = runners.items[0]?.id ?? "";
  const pinned = { body: { prediction_id: runs.text } };
  const { id } = await owner.call(example, "POST", `/models/${MODEL}/examples`, pinned);
  const shown = { model: MODEL, bare: "newcomer/bare", endpoint, runner, example: id };
  things = { ...shown, ...runs, ...(await makeOrganization()) };
});
afterAll(async () => {
  await site.world.cancel(things.running);
  await site.close();
});

/** Creates the endpoint before the runs whose events it gets. */
async function makeEndpoint(): Promise<string> {
  const body = { url: NO_RECEIVER, description: "Production" };
  return (await owner.call(webhookEndpoint, "POST", "/webhook-endpoints", { body })).id;
}

/** Makes an organization with a service token and an open invitation. */
async function makeOrganization() {
  const username = "acme";
  await owner.call(organization, "POST", "/organizations", { body: { username, name: "Acme" } });
  const path = `/organizations/${username}`;
  const service = {
    body: { name: "CI", service_role: "developer", limits: { max_running: 4 } },
  };
  const { id: token } = await owner.call(newToken, "POST", `${path}/tokens`, service);
  const body = { role: "developer", note: "for Grace" };
  const { invitation } = await owner.call(
    newOrganizationInvitation,
    "POST",
    `${path}/invitations`,
    {
      body,
    },
  );
  await owner.fetch("POST", "/deployments", { body: { name: "alias", model: MODEL } });
  const limit = { body: { limit: "50", window: "month" } };
  const { id: budget } = await owner.call(budgetShape, "POST", "/budgets", limit);
  return { organization: username, invitation, token, ownToken: await findOwnToken(), budget };
}

/** Returns the ID of a token of the operator's own account. */
async function findOwnToken(): Promise<string> {
  const path = `/operator/users/${OPERATOR}/tokens`;
  const { items } = await site.world.operator.call(pageOf(tokenShape), "GET", path);
  return items[0]?.id ?? "";
}

/** Makes one run of each kind. A run with `ends` has ended. */
async function makeRuns() {
  const create = async (model: string, input: object, ends = true) => {
    const webhook = { url: NO_RECEIVER };
    const { id } = await owner.call(predictionWithIO, "POST", "/predictions", {
      body: { model: `${OPERATOR}/${model}`, input, webhook },
      headers: { prefer: ends ? "wait" : "wait=0" },
    });
    return id;
  };
  // Seven runs make a row of recent runs that is wider than a page.
  const prompts = ["One", "Two", "Three", "Four", "Five", "Six", "Seven"];
  await Promise.all(prompts.map((prompt) => create("text-generation", { prompt, max_tokens: 1 })));
  const [text, picture, failed, running] = await Promise.all([
    create("text-generation", { prompt: "Alice was", max_tokens: 60, seed: 7 }),
    create("duotone", { image: await uploadFile(owner, SAMPLE), width: 200 }),
    create("duotone", { image: "data:text/plain;base64,bm8gcGljdHVyZQ==" }),
    create("gated", { before: ["One", " two"], gate: "never", after: [" three"] }, false),
  ]);
  return { text, picture, failed, running, event: await failedEvent(failed) };
}

/**
 * Returns the last event of a run once its delivery has failed: the list of events no longer changes then.
 */
async function failedEvent(id: string): Promise<string> {
  const last = async () => {
    const list = await owner.call(pageOf(webhookEvent), "GET", `/predictions/${id}/webhooks`);
    return list.items.at(-1);
  };
  const isTried = async () => {
    const event = await last();
    const each = event?.deliveries.map(({ attempts }) => attempts.some(({ error }) => error));
    return event?.event === "completed" && each?.every(Boolean);
  };
  await vi.waitFor(async () => expect(await isTried()).toBe(true));
  return (await last())?.id ?? "";
}

/** Pushes an image to the deployment's registry, as oras does. No engine can run it. @param model `owner/name` */
async function pushImage(token: string, model: string, tag: string): Promise<void> {
  const at = `/v2/${model}`;
  const send = async (method: string, path: string, type?: string, body?: string) => {
    const response = await fetch(new URL(path, site.url), {
      method,
      headers: { authorization: `Bearer ${token}`, ...(type && { "content-type": type }) },
      ...(body !== undefined && { body }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response.headers.get("location") ?? "";
  };
  const push = async (content: string, mediaType: string) => {
    const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
    const upload = await send("POST", `${at}/blobs/uploads/`);
    await send("PUT", `${upload}?digest=${digest}`, "application/octet-stream", content);
    return { mediaType, digest, size: content.length };
  };
  const config = await push('{"architecture":"amd64","os":"linux"}', MEDIA_TYPES.ociConfig);
  const layer = await push("a layer", "application/vnd.oci.image.layer.v1.tar");
  const manifest = {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.ociManifest,
    config,
    layers: [layer],
  };
  const text = JSON.stringify(manifest);
  await send("PUT", `${at}/manifests/${tag}`, MEDIA_TYPES.ociManifest, text);
}

const NAMES = { nobody: undefined, newcomer: "newcomer", operator: OPERATOR };

describe.each(["nobody", "newcomer", "operator"] as const)("for %s", (somebody) => {
  const as = NAMES[somebody];
  let critic: Visitor;
  let passer: Visitor;
  beforeAll(async () => {
    [critic, passer] = [await site.visitor({ as, axe: true }), await site.visitor({ as })];
  });
  afterAll(() => site.leave());

  // One visitor looks at one address of each page; at night, all look at all.
  const theirs = Object.entries(PAGES).flatMap(([route, places]) => {
    const ours = places
      .slice(0, sized(1, places.length))
      .filter(({ to }) => to.slice(-sized(1, to.length)).includes(somebody));
    return ours.length === 0 ? [] : [[route, ours] as const];
  });

  it.each(theirs)("the page %s has no faults", async (route, places) => {
    const visitor = isRepetition(route) ? passer : critic;
    for (const { at, live } of places) {
      const addresses = at(things);
      for (const address of addresses.slice(0, sized(1, addresses.length))) {
        // A live page may differ between two looks, so its first view is not compared.
        const withoutCode = !live && sized(somebody !== "operator", true);
        await visitor.open(address, { withoutCode });
        await visitor.shoot(`${somebody}${address}-desk`);
        await visitor.narrow();
        await visitor.shoot(`${somebody}${address}-phone`);
        await visitor.widen();
      }
    }
  });
});

describe("with a keyboard alone", () => {
  afterEach(() => site.leave());

  it("Tab reaches all usable elements in their order, and each shows its focus", async () => {
    const forNobody = ["/sign-up", ...sized([], ["/", "/models"])];
    const few = [`/models/${MODEL}`];
    const others = [
      ...["/tokens", "/users", "/account", "/predictions"],
      ...[`/predictions/${things.picture}`, `/models/${MODEL}/settings`],
    ];
    const places: [string | undefined, string[]][] = [
      [undefined, forNobody],
      [OPERATOR, [...few, ...sized([], others)]],
    ];
    for (const [as, addresses] of places) {
      const { page } = await site.visitor({ as });
      // A page that refreshes itself replaces elements, and names and focus with them: its timers never run.
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + PAUSE_MS);
      for (const address of addresses) {
        await page.goto(address);
        const { controls, stops, unmarked } = await walk(page);
        expect([address, stops]).toEqual([address, controls]);
        expect([address, unmarked]).toEqual([address, []]);
      }
    }
  });

  it("the first stop of Tab leads past the navigation", async () => {
    const { page } = await site.visitor({ as: OPERATOR });
    await page.goto("/tokens");
    await page.keyboard.press("Tab");
    const skip = page.getByRole("link", { name: "Skip to content" });
    expect(await focused(skip)).toBe(true);
    expect((await skip.boundingBox())?.y).toBeGreaterThanOrEqual(0);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await focused(page.locator("main a").first())).toBe(true);
  });

  it("the menu opens, closes, and gives back the focus", async () => {
    const { page } = await site.visitor({ as: OPERATOR });
    await page.goto("/");
    const menu = page.locator("header summary");
    await menu.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await focused(page.locator(".menu-items a").first())).toBe(true);
    await page.keyboard.press("Escape");
    expect(await focused(menu)).toBe(true);
    expect(await page.getByRole("link", { name: "Profile" }).isVisible()).toBe(false);
  });
});

const focused = (locator: Locator) =>
  locator.evaluate((element) => element === document.activeElement);

/** The time of a page is paused this far ahead, because it only goes forward. */
const PAUSE_MS = 5_000;

/** More stops than any page has. */
const MAX_STOPS = 200;

interface Walk {
  /** All usable elements, in the order of the page. */
  controls: string[];
  /** Elements that Tab reaches, in its order. */
  stops: string[];
  /** Stops that do not show that they have the focus. */
  unmarked: string[];
}

/** Walks from the top of the page with Tab until the first stop comes again. */
async function walk(page: Page): Promise<Walk> {
  const controls = await page.evaluate(() => {
    const all = document.querySelectorAll<HTMLElement>(
      "a[href], button, input, select, textarea, summary, [tabindex='0']",
    );
    const usable = [...all].filter(
      (element) => element.checkVisibility() && !element.matches(":disabled"),
    );
    // The chosen radio button of a group is its stop; arrows lead to the others.
    const stops = usable.filter((element) => {
      if (!(element instanceof HTMLInputElement) || element.type !== "radio") return true;
      return element.checked;
    });
    // Names are in a map, because attributes would make client code replace the elements of a part that it
    // refreshes.
    const names = new Map<Element, string>();
    Object.assign(window, { stopNames: names });
    return stops.map((element, n) => {
      const words = element.ariaLabel ?? element.innerText;
      const name = `${n} ${element.localName} ${words || element.getAttribute("name")}`;
      names.set(element, name);
      return name;
    });
  });
  const stops: string[] = [];
  const unmarked: string[] = [];
  for (let presses = 0; presses < MAX_STOPS; presses++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      if (!(element instanceof HTMLElement) || element === document.body) return undefined;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const marked = outlineStyle !== "none" && outlineWidth !== "0px";
      const names = Object.getOwnPropertyDescriptor(window, "stopNames")?.value;
      const stop = names instanceof Map ? names.get(element) : undefined;
      return { stop: stop === undefined ? undefined : String(stop), marked };
    });
    if (at === undefined || (stops.length > 1 && at.stop === stops[0])) break;
    // The first of several stops within one control counts, as in a date; a box that scrolls is no control.
    if (at.stop === undefined || at.stop === stops.at(-1)) continue;
    stops.push(at.stop);
    if (!at.marked) unmarked.push(at.stop);
  }
  return { controls, stops, unmarked };
}
