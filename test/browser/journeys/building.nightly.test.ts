/** Journeys of application developers: calls from code, webhooks, the bill. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { duration } from "../../../src/dashboard/ui/duration.ts";
import { priceText } from "../../../src/domain/money/price.ts";
import { hardware } from "../../../src/protocol/hardware.ts";
import type { Received } from "../../receiver/exchange.ts";
import { Receiver } from "../../receiver/receiver.ts";
import { Reader } from "../support/reader.ts";
import { OPERATOR, Site } from "../support/site.ts";

const WHO = "margaret";
const HOOK = "/hooks/auspex";
/** Patience for lists, which have an event a moment later. */
const PATIENCE = { timeout: 20_000, interval: 200 };

let site: Site;
let receiver: Receiver;

beforeAll(async () => {
  site = await Site.open({ WEBHOOK_ALLOW_INSECURE: "true" });
  receiver = await Receiver.open();
  const body = { name: "cpu", price_per_hour: 3600 };
  await Promise.all([
    site.world.runner("one"),
    site.world.operator.call(hardware, "PUT", "/operator/hardware/cpu", { body }),
    site.clientOf(WHO),
  ]);
});
afterEach(() => site.leave());
afterAll(async () => {
  await receiver.close();
  await site.close();
});

const home = async () => Reader.at(await site.visitor({ as: WHO }));

const openMenu = (reader: Reader) => reader.in("banner", /.*/).unfold(WHO);

const run = promisify(execFile);

it("an app developer makes a token, pastes the sample, and finds the calls of that token in the list", async () => {
  const reader = await home();
  await openMenu(reader);
  await reader.follow("Access tokens");
  await reader.unfold("New token");
  await reader.fill("Name", "My app");
  await reader.press("Create token");
  const token = await reader.in("region", /^Your new token/).copy("Copy token");
  await reader.follow("Models");
  await reader.follow(`${OPERATOR}/hello`);
  await reader.fill("name", "Margaret");
  await reader.follow("Code");
  const env = { ...process.env, AUSPEX_TOKEN: token };
  const code = reader.in("region", "Code");
  await code.tick("JavaScript");
  const script = await code.copy();
  const node = await run(process.execPath, ["--input-type=module", "-e", script], { env });
  expect(node.stdout.trim()).toBe("Hello, Margaret!");
  await code.tick("curl");
  const curl = await run("sh", ["-c", await code.copy()], { env });
  expect(curl.stdout).toContain("Hello, Margaret!");
  await reader.follow("Predictions");
  await reader.unfold("More filters");
  await reader.fill("Token", "My app");
  await reader.press("Filter");
  await reader.sees("link", "Remove: Token My app");
  expect((await reader.all()).match(/ada\/hello/g)).toHaveLength(2);
});

it("a failing endpoint is found by its code and words, mended, and gets the missed deliveries", async () => {
  receiver.script(HOOK, [{ status: 500, body: "the disk is full" }]);
  const reader = await home();
  await reader.follow("Webhooks");
  await reader.fill("URL", receiver.url + HOOK);
  await reader.press("Create endpoint");
  await reader.follow("Send test event");
  await reader.press("Send test event");
  await reader.reads("failed: 500");
  await reader.reads("the disk is full");
  await reader.follow("Models");
  await reader.follow(`${OPERATOR}/hello`);
  for (const name of ["Ada", "Alan"]) {
    await reader.fill("name", name);
    await reader.press("Run");
    await reader.reads(`Hello, ${name}!`);
  }
  // The five requests are the test, and the start and end of each of the two runs.
  await receiver.waitFor(HOOK, 5);

  await reader.follow("Webhooks");
  await reader.follow(receiver.url + HOOK);
  await reader.follow("Deliveries");
  await reader.tick("Failed");
  await vi.waitFor(async () => {
    await reader.press("Filter");
    expect((await reader.all()).match(/responded with status 500/g)).toHaveLength(4);
  }, PATIENCE);
  await reader.where("row", "completed").follow("completed");
  await reader.reads("Failing, 500");
  await reader.reads("the disk is full");
  await reader.follow("All deliveries");
  await reader.tick("Failed");
  await reader.press("Filter");
  await reader.tick("Select all");
  const before = receiver.of(HOOK).length;
  receiver.script(HOOK, [{ status: 200 }]);
  await reader.press("Redeliver selected");
  await reader.reads("Redelivering 4 of 4.");
  const idsOf = (received: Received[]) => received.map(({ headers }) => headers["webhook-id"]);
  await receiver.waitFor(HOOK, (all) => new Set(idsOf(all.slice(before))).size === 4);
});

it("the bill shows the cost of each model and token, and the file adds up to the page", async () => {
  const reader = await home();
  await reader.follow("Usage");
  const cells = (await reader.sees("row", new RegExp(`^${OPERATOR}/hello `))).split("\t");
  const { name, text } = await reader.download("Download as CSV");
  expect(name).toBe("auspex-usage-30-days.csv");
  const [head = "", ...lines] = text.trim().split("\r\n");
  const column = (of: string) => head.split(",").indexOf(of);
  const sum = (of: string) =>
    lines.reduce((total, line) => total + Number(line.split(",")[column(of)]), 0);
  expect(lines.map((line) => line.split(",")[column("token")]).sort()).toEqual([
    "Dashboard",
    "My app",
  ]);
  expect(cells).toEqual([
    `${OPERATOR}/hello`,
    String(sum("predictions")),
    "0",
    duration(sum("execution_seconds")),
    duration(sum("setup_seconds")),
    priceText(Math.round(sum("cost") * 1e9), "USD"),
  ]);
});
