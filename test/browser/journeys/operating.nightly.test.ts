/** Journeys of an operator of a deployment in use: waiting predictions and their reasons, and users. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Reader } from "../support/reader.ts";
import { OPERATOR, PASSWORD, Site } from "../support/site.ts";

let site: Site;

beforeAll(async () => {
  site = await Site.open({ SIGN_UP: "invitation" });
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("a waiting prediction is found with its reason; a runner is drained, and resumed for the work", async () => {
  const waiting = await site.world.create("hello", { name: "Ada" });
  const reader = await Reader.at(await site.visitor({ as: OPERATOR }));
  await reader.follow("Fleet");
  await reader.reads("1 prediction queued. No runner serves this hardware.");
  await reader.sees("row", new RegExp(`^${OPERATOR} 1 `));
  const runner = await site.world.runner("box");
  const row = reader.where("row", runner.name);
  await row.reads("idle");
  await waiting.first("done");
  await row.follow(runner.name);
  await reader.press(`Drain ${runner.name}`);
  await reader.reads(`Draining ${runner.name}. Running predictions will finish.`);
  await runner.says(/paused by the control plane/);
  const next = await site.world.create("hello", { name: "Alan" });
  await reader.follow("Fleet");
  await reader.reads("1 prediction queued. Every runner is offline, stopped, draining, or paused.");
  await row.follow(runner.name);
  await reader.press(`Resume ${runner.name}`);
  await reader.reads(`${runner.name} resumed.`);
  await next.first("done");
  await reader.follow("Predictions");
  await reader.where("row", "hello").follow(/hello$/);
  await reader.reads("Hello, Alan!");
});

it("an invited user comes in, runs a model, is seen, is suspended, and sees why", async () => {
  const operator = await Reader.at(await site.visitor({ as: OPERATOR }));
  await operator.follow("Users");
  await operator.unfold("Invite a user");
  await operator.fill("Recipient", "Katherine");
  await operator.press("Create invitation");
  const link = await operator.in("region", "Share this invitation link").copy("Copy link");

  const uninvited = await site.visitor();
  await uninvited.open("/sign-up");
  expect(await uninvited.page.getByRole("textbox").count()).toBe(0);
  const guest = await site.visitor();
  const reader = await Reader.at(guest, link);
  await reader.reads("Invitation for Katherine.");
  await reader.fill("Username", "katherine");
  await reader.fill("Email", "katherine@example.com");
  await reader.fill("Password", PASSWORD);
  await reader.press("Create account");
  await guest.arrives("/");
  // The link adds only a fragment to the open page, which does not load again but still uses the invitation.
  const answered = uninvited.page.waitForResponse((one) => one.url() === `${site.url}/sign-up`);
  await uninvited.page.goto(link);
  expect((await answered).status()).toBe(200);
  await uninvited.page.getByText("You need an invitation to create an account").waitFor();
  await reader.follow("Models");
  await reader.follow(`${OPERATOR}/hello`);
  await reader.fill("name", "Katherine");
  await reader.press("Run");
  await reader.reads("Hello, Katherine!");

  await operator.follow("Users");
  await operator.follow("katherine");
  await operator.reads("Last seen");
  await operator.reads(`${OPERATOR}/hello`);
  await operator.press("Suspend account");
  await operator.reads("suspended");
  await reader.follow("Predictions");
  await reader.fill("Email", "katherine@example.com");
  await reader.fill("Password", PASSWORD);
  guest.expects(403, "/predictions");
  await reader.press("Log in");
  await reader.sees("heading", "This account is suspended");
});
