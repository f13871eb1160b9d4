/** Pages that are open while the service is unreachable: they say so, and come back by themselves. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { pageOf } from "../../src/protocol/common.ts";
import { prediction } from "../../src/protocol/prediction.ts";
import { OPERATOR, Site } from "./support/site.ts";

const WHO = "cora";

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
  await site.world.runner("box");
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("a model's page follows a run: once it has started there is a container", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/models/${OPERATOR}/gated`);
  await page.locator("[data-expected]").getByText("Cold start").waitFor();
  await page.getByText("More options").click();
  await page.getByLabel("gate optional").fill("never-follows");
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.locator("[data-expected]").getByText("Warm", { exact: true }).waitFor();
  expect(await page.locator(".prediction-head .status").textContent()).toBe("started");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator(".prediction-head .status").getByText("canceled").waitFor();
});

it("the fleet's page says that it is old, until it is not", async () => {
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

it("a prediction's page whose stream is refused comes back", async () => {
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

it("a prediction's page whose reader has lost access says so at its end", async () => {
  const client = await site.clientOf(WHO);
  const body = { model: `${OPERATOR}/gated`, input: { before: ["a"], gate: "never-lost" } };
  const { id } = await client.call(prediction, "POST", "/predictions", { body });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  await page.locator(".prediction-view .status").getByText("started").waitFor();
  await page.route("**/view", (route) => route.fulfill({ status: 404 }));
  visitor.expects(404, `/predictions/${id}/view`);
  await client.fetch("POST", `/predictions/${id}/cancel`);
  await page.getByText("or you no longer have access to it").waitFor();
});

it("the page of a user who has logged out says so, and asks less and less often", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await page.clock.install();
  await visitor.open("/predictions");
  await page.context().clearCookies();
  let asked = 0;
  page.on("request", (request) => {
    if (new URL(request.url()).pathname === "/predictions") asked += 1;
  });
  // The answer gives the page's requests real time, which the browser's moved clock does not.
  for (let n = 0; n < 20; n++) {
    await page.clock.runFor(3_000);
    await page.request.get("/find", { maxRedirects: 0 });
  }
  expect(await page.getByText("You are logged out. Log in, then reload the page.").count()).toBe(1);
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThan(7);
});

it("a page runs nothing as a user who has logged in since", async () => {
  const [visitor, other] = [await site.visitor({ as: WHO }), await site.visitor({ as: "otto" })];
  const { page } = visitor;
  const path = `/models/${OPERATOR}/gated`;
  await visitor.open(path);
  await page.context().clearCookies();
  await page.context().addCookies((await other.session()).cookies);
  visitor.expects(403, path);
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByText("Reload the page to continue as otto.").waitFor();
  const client = await site.clientOf("otto");
  expect((await client.call(pageOf(prediction), "GET", "/predictions")).items).toEqual([]);
});
