/** The pages of the fleet, without client code. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { readManifest } from "../../../src/services/assets.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { withKey, withoutKey } from "../support/backups.ts";
import { pageAt } from "../support/catalogue.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { registered, setAside } from "../support/fleet.ts";
import { textOf } from "../support/page-text.ts";
import { FakeRunner } from "../support/runner.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newRunnerToken, newWorld, operator, unique } from "../support/world.ts";

const { version, sha256 } = (await readManifest(env)).runner;
const FILE = `auspex-runner-${version}.tgz`;
const FETCH = `curl -fsSL "https://auspex.test/auspex-runner.tgz?v=${version}" -o ${FILE} && echo "${sha256} ${FILE}" | sha256sum --check &&`;
const COMMAND = `npx --yes ./${FILE}`;

/** Returns the rows of a runner on the page of the fleet. */
const rowsOf = (html: string, id: string) =>
  [...html.matchAll(new RegExp(`<tr data-part="${id} .*?</tr>`, "gs"))].map(([row]) => row);

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

const gpu = { name: "NVIDIA L40S", memory_gb: 45 };
const withGpus = { cpus: 16, memory_gb: 128, gpus: [gpu, gpu] };
const device = (n: number, holder: string | null, lost?: true) => ({
  id: `GPU-${n}`,
  ...gpu,
  holder,
  ...(lost && { lost }),
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

  test("GPUs are sorted by what is idle, or by load", async () => {
    const uses = [0.5, 0, 0.9];
    const runners = await Promise.all(
      uses.map(async (used) => {
        const { runner } = await registered(undefined, {
          machine: { ...withGpus, gpus: [gpu] },
        });
        const users = used > 0 ? { users: 1, idle_ms: null } : {};
        const containers = [readyContainer({ name: "c", key: "k", gpus: 1, ...users })];
        await runner.tellState({ devices: [device(1, "c")], containers });
        const gpus = [{ used, memory_used_gb: 1 }];
        await runner.tell({ load: { cpu: 1, memory_used_gb: 1, gpus } });
        return { used, id: runner.id };
      }),
    );
    const order = async (path: string) => {
      const html = await look(path);
      const at = (id: string) => html.indexOf(`data-part="${id} 0"`);
      return runners.toSorted((a, b) => at(a.id) - at(b.id)).map(({ used }) => used);
    };
    expect(await order("/fleet")).toEqual([0, 0.5, 0.9]);
    expect(await order("/fleet?sort=idle")).toEqual([0, 0.5, 0.9]);
    expect(await order("/fleet?sort=load")).toEqual([0.9, 0.5, 0]);
    expect(await order("/fleet?sort=other")).toEqual([0, 0.5, 0.9]);
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

  test("an offline runner is an error after 2 minutes, and one whose object fails is shown all the same", async () => {
    const [silent, lost] = [await registered(), await registered()];
    advance(100);
    const row = async () => rowsOf(await look(), silent.runner.id).join();
    expect(await row()).toMatch(/class="status offline *"/);
    advance(20);
    expect(await row()).toContain('class="status offline bad"');
    const page = await look(`/fleet/runners/${silent.runner.id}`);
    expect(textOf(page)).toContain("offline for 2 min");
    expect(page).toContain('title="Offline runners are shown as an error after 2 minutes');
    const stubOf = env.RUNNER.getByName.bind(env.RUNNER);
    const fetch = () => Promise.reject(new Error("gone"));
    vi.spyOn(env.RUNNER, "getByName").mockImplementation((id) =>
      id === lost.runner.id ? Object.assign(stubOf(id), { fetch }) : stubOf(id),
    );
    expect(textOf(rowsOf(await look(), lost.runner.id).join())).toContain("unknown");
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

test("a run whose runner was killed is counted once, and no longer as that runner's", async () => {
  const world = await newWorld();
  const { id, runner } = await world.begun();
  await runner.tell({ running: [id] });
  const running = async () =>
    /data-label="Running">(\d+)/.exec(
      new RegExp(`<tr id="class-${world.hardware}".*?</tr>`, "s").exec(await look())?.[0] ?? "",
    )?.[1];
  expect(await running()).toBe("1");
  await passes(31, id);
  await eventually(async () => expect(await running()).toBe("0"));
  const other = await world.runner();
  await other.work();
  await other.tell({ running: [id] });
  expect(await running()).toBe("1");
  // A runner that was only frozen still reports the run; the runner that reported it last counts.
  advance(1);
  await runner.tell({ running: [id] });
  advance(1);
  await other.tell({ running: [id] });
  expect(await running()).toBe("1");
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

// The last one here: the rows of other tests stay on the first page.
test("a machine without GPUs has one row, and a fleet of many GPUs several pages below 100 KB", async () => {
  const { runner } = await registered(undefined, {
    machine: { cpus: 16, memory_gb: 128, gpus: [] },
  });
  await runner.tellState({ devices: [] });
  await runner.tell({ load: { cpu: 40, memory_used_gb: 31.52 } });
  const [row = "", ...more] = rowsOf(await look("/fleet?sort=load"), runner.id);
  expect(more).toEqual([]);
  expect(textOf(row)).toMatch(/CPU, 16 cores CPU 100% 32\/128 GB free/);
  for (let n = 0; n < 6; n++) {
    const devices = Array.from({ length: 8 }, (_, at) => device(at, null));
    const machine = { ...withGpus, gpus: devices.map(() => gpu) };
    const { runner } = await registered(undefined, { machine });
    await runner.tellState({ devices });
    for (let hour = 0; hour < 24; hour++) {
      const load = { used: (hour % 7) / 7, memory_used_gb: 1.5 * hour };
      const gpus = devices.map(() => load);
      await runner.tell({ load: { cpu: 1, memory_used_gb: 1, gpus } });
      advance(3_600);
    }
    await runner.tellState({ devices });
  }
  const html = await look("/fleet?sort=load");
  expect(html.length).toBeLessThan(100_000);
  expect(html).toContain("/fleet?sort=load&amp;page=2");
  expect(textOf(await look("/fleet?sort=load&page=2"))).toContain("← Previous");
});
