/** Journeys of users of others' models: found, tried, mended, compared and shared. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { prediction } from "../../../src/protocol/prediction.ts";
import { Reader } from "../support/reader.ts";
import { OPERATOR, Site } from "../support/site.ts";

const WHO = "grace";

let site: Site;

beforeAll(async () => {
  site = await Site.open();
  await Promise.all([site.world.runner("one"), site.clientOf(WHO)]);
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("a data scientist finds a model, reads an example, runs it on values of her own and takes the result home", async () => {
  await pinAnExample();
  const reader = await Reader.at(await site.visitor({ as: WHO }));
  await reader.follow("Models");
  await reader.fill("Search models", "sums");
  await reader.follow(`${OPERATOR}/sums`);
  await reader.follow("Examples");
  await reader.in("region", "Input of example 1").reads("numbers");
  await reader.in("region", "Output of example 1").reads("6");
  await reader.follow("Use these inputs");
  await reader.fill("numbers", "[2, 4, 9]");
  await reader.unfold("More options (4)");
  await reader.choose("operation", "mean");
  await reader.press("Run");
  await reader.reads("succeeded");
  const { name, text } = await reader.download("JSON");
  expect(name).toMatch(/\.json$/);
  expect(JSON.parse(text)).toEqual({ operation: "mean", count: 3, result: 5 });
});

it("a run that fails says why in its log, and succeeds once its input is mended", async () => {
  const client = await site.clientOf(WHO);
  const body = { model: `${OPERATOR}/sums`, input: { numbers: [3, 4], mode: "fail" } };
  await client.call(prediction, "POST", "/predictions", { body, headers: { prefer: "wait" } });
  const reader = await Reader.at(await site.visitor({ as: WHO }));
  await reader.follow("Predictions");
  await reader.tick("failed");
  await reader.press("Filter");
  await reader.where("row", "Told to fail").follow(/^\w+\/[\w-]+$/);
  await reader.reads("Model error:");
  await reader.follow("Run again with changes");
  await reader.choose("mode", "normal");
  await reader.press("Run");
  await reader.reads("succeeded");
  expect(JSON.parse((await reader.download("JSON")).text)).toMatchObject({ result: 7 });
});

it("a run is shared by a link, until that is revoked", async () => {
  const visitor = await site.visitor({ as: WHO });
  const reader = await Reader.at(visitor);
  await reader.follow("Models");
  await reader.follow(`${OPERATOR}/hello`);
  await reader.fill("name", "Ada");
  await reader.press("Run");
  await reader.reads("Hello, Ada!");
  await reader.follow("View prediction");
  await reader.choose("Expires in", "1 day");
  await reader.press("Create link");
  const link = await reader.copy("Copy link");

  const friend = await site.visitor();
  const other = await Reader.at(friend, link);
  await other.reads("Hello, Ada!");
  expect(await other.all()).not.toContain(WHO);

  await reader.follow("Manage shared links");
  await reader.press(/^Revoke/);
  await reader.reads("Link revoked.");
  friend.expects(404, new URL(link).pathname);
  await Reader.at(friend, link);
  await other.sees("heading", /./);
  expect(await other.all()).not.toContain("Hello");
});

/** Pins a run as an example, which the owner did before the reader came. */
async function pinAnExample(): Promise<void> {
  const run = await site.world.create("sums", { numbers: [1, 2, 3] }, { prefer: "wait" });
  const visitor = await site.visitor({ as: OPERATOR });
  await visitor.page.goto(`/predictions/${run.id}`);
  await visitor.page.getByRole("button", { name: "Pin as an example" }).click();
  await visitor.page.getByRole("heading", { name: "Example 1" }).waitFor();
}
