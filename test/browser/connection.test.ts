/** Pages that are open while the service cannot be reached: they say so, and come back by themselves. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { prediction } from "../../src/protocol/prediction.ts";
import { browserIsThere } from "./support/chromium.ts";
import { OPERATOR, Site } from "./support/site.ts";

const WHO = "cora";

describe.runIf(browserIsThere)("a page that is open", () => {
  let site: Site;

  beforeAll(async () => {
    site = await Site.open();
    await site.world.runner("box");
  });
  afterEach(() => site.leave());
  afterAll(() => site.close());

  it("of the fleet says that it is old, until it is not", async () => {
    const visitor = await site.visitor({ as: OPERATOR });
    const { page } = visitor;
    await visitor.open("/fleet");
    await page.route("**/fleet", (route) => route.fulfill({ status: 503 }), { times: 2 });
    for (const _ of [1, 2]) visitor.expects(503, "/fleet");
    const notice = page.getByText("Connection lost. Reconnecting…");
    await notice.waitFor();
    await visitor.look();
    await notice.waitFor({ state: "detached" });
  });

  it("of a prediction whose stream is refused comes back", async () => {
    const client = await site.clientOf(WHO);
    const body = { model: `${OPERATOR}/gated`, input: { before: ["a"], gate: "never" } };
    const { id } = await client.call(prediction, "POST", "/predictions", { body });
    const visitor = await site.visitor({ as: WHO });
    const { page } = visitor;
    await page.route("**/events?*", (route) => route.fulfill({ status: 503 }), { times: 2 });
    for (const _ of [1, 2]) visitor.expects(503, `/predictions/${id}/events`);
    await visitor.open(`/predictions/${id}`);
    await client.fetch("POST", `/predictions/${id}/cancel`);
    await page.locator(".prediction-view .status").getByText("canceled").waitFor();
    expect(await page.locator("[data-problem]").isHidden()).toBe(true);
  });
});
