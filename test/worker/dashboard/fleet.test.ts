/** The pages of the fleet, without client code. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { readManifest } from "../../../src/services/assets.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { withKey, withoutKey } from "../support/backups.ts";
import { pageAt } from "../support/catalogue.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { device, registered, rowsOf, setAside, withGpus } from "../support/fleet.ts";
import { textOf } from "../support/page-text.ts";
import { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newRunnerToken, newWorld, operator, unique } from "../support/world.ts";

const { version, sha256 } = (await readManifest(env)).runner;
const FILE = `auspex-runner-${version}.tgz`;
const FETCH = `curl -fsSL "https://auspex.test/auspex-runner.tgz?v=${version}" -o ${FILE} && echo "${sha256} ${FILE}" | sha256sum --check &&`;
const COMMAND = `npx --yes ./${FILE}`;

/** Returns the row of a class of machines. */
const classOf = (html: string, hardware: string) =>
  textOf(new RegExp(`<tr id="class-${hardware}".*?</tr>`, "s").exec(html)?.[0] ?? "");

const person = await newOperator();
const { visitor } = person;

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const look = async (path = "/fleet") => {
  const { status, html } = await visitor.look(path);
  expect(status).toBe(200);
  return html;
};

test("a fleet without BACKUP_KEY shows that backups are off", async () => {
  expect(textOf(await look())).toContain("Backups are off. Set up backups");
  withKey();
  onTestFinished(withoutKey);
  expect(textOf(await look())).not.toContain("Backups");
});

describe("a runner", () => {
  test("a runner that is set aside can be resumed, or drained, on its page", async () => {
    const world = await newWorld();
    const { id } = await setAside(world);
    const html = await look();
    expect(classOf(html, world.hardware)).toContain(`${world.hardware} 0 0 `);
    expect(textOf(rowsOf(html, id).join())).toContain(" paused ");
    const page = `/fleet/runners/${id}`;
    expect(textOf(await look(page))).toContain(" paused Resume Drain ");
    expect((await visitor.send(`${page}/resume`)).headers.get("location")).toBe(page);
    expect(textOf(await look(page))).not.toMatch(/ paused Resume /);
  });

  test("each GPU has a row with its use, its memory, what runs on it, since when, and whose", async () => {
    const world = await newWorld();
    await world.waiting();
    const { runner, name } = await registered(`rack <1> ${unique("é")}`, { machine: withGpus });
    const other = await world.runner(2);
    const { job } = await other.work();
    const key = job.keys.container;
    const busy = readyContainer({ name: "c1", key, gpus: 1, users: 1, idle_ms: null });
    const idle = readyContainer({ name: "c2", key: "?", gpus: 1, idle_ms: 7_200_000 });
    advance(180);
    const devices = [device(1, "c1"), device(2, "c2"), device(3, null, true)];
    await other.tellState({ free: 1, containers: [busy, idle], devices });
    const load = (used: number) => ({ used, memory_used_gb: 40 * used });
    await other.tell({
      running: [job.prediction_id],
      load: { cpu: 4, memory_used_gb: 31.5, gpus: [load(1), load(0.1), load(0)] },
    });
    await runner.tellState({ devices: [device(1, null), device(2, null)] });
    const html = await look();
    const rows = rowsOf(html, other.id).map(textOf);
    expect(rows).toHaveLength(3);
    const of = (text: string) => rows.find((row) => row.includes(text));
    expect(of("#1")).toMatch(
      new RegExp(`L40S .*100% .*40/45 GB running ${world.model}:1 ${world.username} 3 min`),
    );
    expect(of("#2")).toMatch(/ 10% .*4\.0\/45 GB idle ada\/story@\S+ 2 h/);
    expect(of("#3")).toContain(" lost ");
    expect(html).toContain("<title>GPU 1 use, last 24h: 100% to 100%, now 100%</title>");
    expect(html).toContain(`<a href="/fleet/runners/${other.id}"`);
    const escaped = name.replace("<1>", "&lt;1&gt;");
    expect(textOf(rowsOf(html, runner.id)[0] ?? "")).toMatch(`${escaped} #1 L40S – 45 GB free`);
  });

  test("a runner links to the user's own prediction, and to the look-up of others' predictions", async () => {
    const world = await newWorld({ visibility: "public" });
    const [mine, theirs] = [person.client, world.client].map(
      async (client) => (await client.create({ model: world.model, input: {} })).body.id,
    );
    const running = [(await mine) ?? "", (await theirs) ?? ""];
    const runner = await world.runner(2);
    await runner.tell({ running });
    const html = await look(`/fleet/runners/${runner.id}`);
    expect(html).toContain(`href="/predictions/${running[0]}"`);
    expect(html).not.toContain(`href="/predictions/${running[1]}"`);
    expect(html).toContain(`href="/look-up?id=${running[1]}"`);
  });

  test("a runner that is out of date is shown with the commands of an update", async () => {
    const { runner } = await registered(undefined, { version: "0.0.1" });
    const text = textOf(await look(`/fleet/runners/${runner.id}`));
    expect(text).toContain(`Installed: 0.0.1. Available: ${version}.`);
    expect(text).toContain(COMMAND);
    expect(text).toContain(`${FETCH} npm install --global ./${FILE}`);
  });
});

test("a class with queued predictions and no runner is a problem, and shows how long they wait", async () => {
  const world = await newWorld();
  await world.waiting();
  await eventually(async () => expect(await look()).toContain(`class-${world.hardware}`));
  advance(75);
  const row = async () => classOf(await look(), world.hardware);
  const problem = async () => {
    const link = `href="#class-${world.hardware}"`;
    const cards = [...(await look()).matchAll(/<li class="box bad-card">.*?<\/li>/gs)];
    return textOf(cards.map(([card]) => card).find((card) => card.includes(link)) ?? "");
  };
  expect(await row()).toMatch(/ 0 0 0 1 1 min 15 s – /);
  expect(await problem()).toContain("1 prediction queued. No runner serves this hardware.");
  const gone = await world.runner();
  await gone.tell({ state: "stopped" });
  expect(await problem()).toContain("Every runner is offline, stopped, draining, or paused.");
  const runner = await world.runner();
  expect(await problem()).toBe("");
  await runner.tellState({ free: 0 });
  expect(textOf(await look())).toContain(
    "The only runner is busy. Add a runner to shorten the wait.",
  );
  await runner.take();
  await eventually(async () => expect(await row()).toMatch(/ 0 – 1 min 15 s /));
});

test("classes of one pool have a row each in the queues, and their runners are shown once", async () => {
  const { hardware, runner } = await registered();
  const wide = `${hardware}-x4`;
  await operator.ok("PUT", `/v1/operator/hardware/${wide}`, { name: "Four", pool: hardware });
  const both = await FakeRunner.begin(
    await newRunnerToken(hardware, wide),
    [hardware, wide],
    unique("both"),
    2,
  );
  const html = await look();
  expect(classOf(html, hardware)).toContain(`${hardware} Box (pool ${hardware}) 2 5 `);
  expect(classOf(html, wide)).toContain(`${wide} Four (pool ${hardware}) 1 2 `);
  for (const { id } of [runner, both]) expect(rowsOf(html, id)).toHaveLength(1);
});

describe("a runner token", () => {
  const hardware = unique("hw");
  const make = (fields: object = {}) =>
    visitor.send("/fleet/tokens", { name: "rack 1", hardware, ...fields });

  test("a runner token for several classes has a command for each pool", async () => {
    const [other, wide] = [unique("hw"), `${hardware}-x4`];
    for (const identifier of [hardware, other])
      await operator.ok("PUT", `/v1/operator/hardware/${identifier}`, { name: "Box" });
    await operator.ok("PUT", `/v1/operator/hardware/${wide}`, { name: "Box", pool: hardware });
    const text = textOf((await make({ hardware: [hardware, other, wide] })).html);
    expect(text).toContain(`On ${hardware}, ${wide} `);
    expect(text).toContain(`AUSPEX_HARDWARE=${hardware},${wide} `);
    expect(text).toContain(`AUSPEX_HARDWARE=${other} `);
  });

  test.each([
    ["a name", { name: "" }, 'id="name-error"'],
    ["a hardware class", { hardware: [""] }, "Select at least one hardware class."],
    ["an existing class", { hardware: "no-such" }, "no-such"],
  ])("a runner token needs %s", async (_, fields, says) => {
    const { status, html } = await make(fields);
    expect(status).toBe(422);
    expect(html).toContain(says);
    expect(html).not.toContain("AUSPEX_RUNNER_TOKEN");
  });
});

describe("a class of machines", () => {
  const FIELDS = {
    name: "NVIDIA L40S",
    gpus: "1",
    cpus: "16",
    ram_per_gpu_gb: "48",
    ram_gb: "128",
    price_per_hour: "0.8",
  };
  const identifier = unique("l40s");
  const named = async () =>
    (await pageAt<{ identifier: string }>(person.client, "/v1/hardware?page_size=50")).items;

  test("a class is made once: another with its identifier changes nothing", async () => {
    await operator.ok("PUT", `/v1/operator/hardware/${identifier}`, { name: "First" });
    const { status, html } = await visitor.send("/fleet/hardware", { ...FIELDS, identifier });
    expect(status).toBe(409);
    expect(textOf(html)).toContain(`The hardware '${identifier}' already exists.`);
    expect(html).toContain('value="NVIDIA L40S"');
    expect(await named()).toContainEqual(expect.objectContaining({ identifier, name: "First" }));
  });

  test.each([
    ["identifier", "Not A Slug"],
    ["name", ""],
    ["cpus", "many"],
    ["gpus", "-1"],
    ["price_per_hour", "cheap"],
    ["price_per_hour", "0x10"],
    ["price_per_hour", "9999999999"],
  ])("the field %s cannot be %j", async (field, value) => {
    const fields = { ...FIELDS, identifier: unique("hw"), [field]: value };
    const { status, html } = await visitor.send("/fleet/hardware", fields);
    expect(status).toBe(422);
    expect(html).toContain(`id="${field}-error"`);
  });

  test("a class that models name cannot be deleted", async () => {
    const { hardware } = await newWorld();
    const { status, html } = await visitor.send(`/fleet/hardware/${hardware}/delete`);
    expect(status).toBe(409);
    expect(textOf(html)).toMatch(
      new RegExp(`Models, versions or deployments use '${hardware}'.* deleted by their owners`),
    );
  });
});
