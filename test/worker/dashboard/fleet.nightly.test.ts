/** More of the pages of the fleet: their order, many GPUs, and runners that are lost. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { device, gpu, registered, rowsOf, withGpus } from "../support/fleet.ts";
import { textOf } from "../support/page-text.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

const { visitor } = await newOperator();

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

describe("a runner", () => {
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
