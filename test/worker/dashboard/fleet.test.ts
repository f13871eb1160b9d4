/** The pages of the fleet, without client code. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { readManifest } from "../../../src/services/assets.ts";
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

/** Returns the part of a page about one runner, or one class of machines. */
const partOf = (html: string, tag: "li" | "section", id: string) =>
  new RegExp(`<${tag}[^>]*aria-labelledby="[a-z]+-${id}".*?</${tag}>`, "s").exec(html)?.[0] ?? "";

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

test("a fleet without BACKUP_KEY shows that no backups are made", async () => {
  const hint = "No backups are made, because the secret BACKUP_KEY is not set, or has fewer";
  expect(textOf(await look())).toContain(hint);
  withKey();
  onTestFinished(withoutKey);
  expect(textOf(await look())).not.toContain("backups");
});

describe("a runner", () => {
  test("a runner that is set aside can be resumed, or drained", async () => {
    const world = await newWorld();
    const { id } = await setAside(world);
    const html = await look();
    const part = partOf(html, "li", id);
    expect(textOf(partOf(html, "section", world.hardware))).toContain("Ready 0");
    expect(textOf(part)).toContain(" set aside Resume Drain ");
    expect((await visitor.send(`/fleet/runners/${id}/resume`)).status).toBe(303);
    const after = partOf(await look(), "li", id);
    expect(textOf(after)).not.toMatch(/set aside|Resume/);
  });

  test("a runner is shown with everything it reports", async () => {
    const gpu = { name: "NVIDIA L40S", memory_gb: 45 };
    const machine = { cpus: 16, memory_gb: 128, gpus: [gpu, gpu] };
    const { runner, name, hardware } = await registered(`rack <1> ${unique("é")}`, {
      machine,
      version,
    });
    const running = [crypto.randomUUID(), crypto.randomUUID()];
    await runner.tell({
      running,
      warm: ["ada/sums:1", "ada/story:12", "ada/story:3"],
      load: {
        cpu: 40,
        memory_used_gb: 31.52,
        gpus: [
          { used: 0.974, memory_used_gb: 40 },
          { used: 0, memory_used_gb: 0 },
        ],
      },
    });
    const html = partOf(await look(), "li", runner.id);
    const text = textOf(html);
    expect(text).toContain(name.replace("<1>", "&lt;1&gt;"));
    expect(text).toContain("2 × NVIDIA L40S, 16 cores, 128 GB · process engine");
    expect(text).toContain(`version ${version}`);
    expect(text).not.toContain("out of date");
    expect(text).toContain("seen less than a minute ago");
    expect(text).toContain("2 of 3 busy");
    expect(text).toContain("load 40.0 of 16");
    expect(html).toContain('<meter value="16" max="16"');
    expect(text).toContain("32 of 128 GB");
    expect(text).toContain("GPU 1 97%, 40 of 45 GB");
    expect(text).toContain("GPU 2 0%, 0.0 of 45 GB");
    expect(text).toContain("Warm ada/story:3, ada/story:12, ada/sums:1");
    for (const id of running) expect(text).toContain(`…${id.slice(-8)}`);
    expect(html).not.toContain('href="/predictions/');
    expect(textOf(partOf(await look(), "section", hardware))).toMatch(
      /Ready 1 Slots 3 Running 2 Waiting 0 Longest wait – Median wait –/,
    );
  });

  test("a runner links to the user's own prediction, and to the look-up of others' predictions", async () => {
    const world = await newWorld({ visibility: "public" });
    const [mine, theirs] = [person.client, world.client].map(
      async (client) => (await client.create({ model: world.model, input: {} })).body.id,
    );
    const running = [(await mine) ?? "", (await theirs) ?? ""];
    const runner = await world.runner(2);
    await runner.tell({ running });
    const html = partOf(await look(), "li", runner.id);
    expect(html).toContain(`href="/predictions/${running[0]}"`);
    expect(html).not.toContain(`href="/predictions/${running[1]}"`);
    expect(html).toContain(`href="/look-up?id=${running[1]}"`);
    expect(html).toContain(running[1]);
  });

  test("a runner that is out of date is shown with the commands of an update", async () => {
    const { runner } = await registered(undefined, { version: "0.0.1" });
    const html = partOf(await look(), "li", runner.id);
    const text = textOf(html);
    expect(text).toContain(`It runs version 0.0.1; this deployment serves ${version}.`);
    expect(text).toContain(COMMAND);
    expect(text).toContain(`${FETCH} npm install --global ./${FILE}`);
  });

  test("a silent runner shows since when, and a runner whose object fails is shown all the same", async () => {
    const [silent, lost] = [await registered(), await registered()];
    advance(3 * 3_600);
    const text = textOf(partOf(await look(), "li", silent.runner.id));
    expect(text).toContain("offline");
    expect(text).toContain("seen 3 h 0 min ago");
    const stubOf = env.RUNNER.getByName.bind(env.RUNNER);
    const fetch = () => Promise.reject(new Error("gone"));
    vi.spyOn(env.RUNNER, "getByName").mockImplementation((id) =>
      id === lost.runner.id ? Object.assign(stubOf(id), { fetch }) : stubOf(id),
    );
    expect(textOf(partOf(await look(), "li", lost.runner.id))).toContain("unknown");
  });
});

test("a class with waiting predictions and no runner asks for one, and shows how long they wait", async () => {
  const world = await newWorld();
  await world.waiting();
  await eventually(async () => expect(await look()).toContain(`class-${world.hardware}`));
  advance(75);
  const text = textOf(partOf(await look(), "section", world.hardware));
  expect(text).toMatch(/Ready 0 Slots 0 Running 0 Waiting 1 Longest wait 1 min 15 s Median wait –/);
  expect(text).toContain("A prediction is waiting, but no runner serves this hardware.");
  const gone = await world.runner();
  await gone.tell({ state: "stopped" });
  expect(textOf(partOf(await look(), "section", world.hardware))).toContain(
    "A prediction is waiting, but its runner is offline.",
  );
  const runner = await world.runner();
  expect(textOf(partOf(await look(), "section", world.hardware))).not.toContain("is waiting, but");
  await runner.tellState({ free: 0 });
  expect(textOf(partOf(await look(), "section", world.hardware))).toContain(
    "1 prediction waits: its only runner is busy. Another runner would help.",
  );
  await runner.take();
  await eventually(async () =>
    expect(textOf(partOf(await look(), "section", world.hardware))).toContain(
      "Waiting 0 Longest wait – Median wait 1 min 15 s",
    ),
  );
});

test("classes of one pool are shown together, each with its queue, and their runners once", async () => {
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
  const section = textOf(partOf(html, "section", `${hardware} class-${wide}`));
  expect(section).toContain(`Classes that share the runners of the pool ${hardware}:`);
  expect(section).toMatch(
    new RegExp(`${hardware} Box Ready 2 Slots 5 .*${wide} Four Ready 1 Slots 2`),
  );
  expect(textOf(partOf(html, "li", both.id))).toContain(`serves ${hardware}, ${wide} ·`);
  for (const { id } of [runner, both]) expect(html.split(`id="runner-${id}"`)).toHaveLength(2);
});

test("a run whose runner was killed is counted once, and no longer as that runner's", async () => {
  const world = await newWorld();
  const { id, runner } = await world.begun();
  await runner.tell({ running: [id] });
  const section = async () => textOf(partOf(await look(), "section", world.hardware));
  expect(await section()).toContain("Running 1");
  await passes(31, id);
  await eventually(async () => expect(await section()).toContain("Running 0"));
  const other = await world.runner();
  await other.work();
  await other.tell({ running: [id] });
  expect(await section()).toContain("Running 1");
  // A runner that was only frozen still reports the run; the runner that reported it last counts.
  advance(1);
  await runner.tell({ running: [id] });
  advance(1);
  await other.tell({ running: [id] });
  expect(await section()).toContain("Running 1");
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
      new RegExp(`Models or versions use '${hardware}'.* deleted by their owners`),
    );
  });
});
