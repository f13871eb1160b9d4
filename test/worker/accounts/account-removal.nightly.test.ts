/** The removal of an account, of which each step fails in turn, and beside that of another. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sweepAccounts } from "../../../src/services/accounts/delete-account.ts";
import {
  countOf,
  giveUp,
  HOUR,
  keysNaming,
  obey,
  rowsNaming,
  run,
  services,
  settled,
  sweeps,
} from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { countRows, keepUp, rowOf } from "../support/objects.ts";
import { sweep } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

/** Waits until the accounts that other tests have closed are removed. */
async function gone() {
  advance(48 * HOUR);
  await eventually(async () => {
    await sweep();
    expect(await run("SELECT id FROM users WHERE username GLOB 'leaving/*'")).toEqual([]);
  });
}

test("an account's removal continues after any step has failed", async () => {
  const world = await newWorld({ visibility: "public" });
  const other = await newWorld({ visibility: "public" });
  const { names, running } = await settled(world, other.model);
  await gone();
  await giveUp(world);
  await obey(running);
  captureLog("error");
  const [prepare, list] = [env.DB.prepare.bind(env.DB), env.FILES.list.bind(env.FILES)];
  /** Lets the n-th call of D1 or R2 fail. Returns whether there was one. */
  const sweepUntil = async (n: number) => {
    let calls = 0;
    const count = () => {
      calls += 1;
      if (calls === n) throw new Error("it dies here");
    };
    vi.spyOn(env.DB, "prepare").mockImplementation((sql) => {
      count();
      return prepare(sql);
    });
    vi.spyOn(env.FILES, "list").mockImplementation(async (options) => {
      count();
      return list(options);
    });
    await sweepAccounts(services, Date.now()).catch(() => {});
    vi.mocked(env.DB.prepare).mockRestore();
    vi.mocked(env.FILES.list).mockRestore();
    return calls >= n;
  };
  let steps = 1;
  while (await sweepUntil(steps)) steps += 1;
  expect(steps).toBeGreaterThan(8);
  await sweeps(world);
  advance(48 * HOUR);
  steps = 1;
  while (await sweepUntil(steps)) steps += 1;
  await sweep();
  const left = (await rowsNaming(names)).map(([table]) => table);
  expect(left.sort()).toEqual(["audit_chains", "usernames", "users"]);
  expect(await keysNaming(names)).toEqual([]);
  await eventually(async () => expect(await countOf(other.model)).toBe(1));
});

test("an account's removal leaves the counts of models that it has run", async () => {
  const world = await newWorld();
  const other = await newWorld({ visibility: "public" });
  const ids: string[] = [];
  for (let n = 0; n < 3; n++)
    ids.push((await world.client.create({ model: other.model, input: {} })).body.id);
  await giveUp(world);
  await sweeps(world);
  await eventually(async () => expect(await countOf(other.model)).toBe(3));
  for (const id of ids) expect(await rowOf(id)).toBeNull();
});

test("an account's removal does not wait for another's", async () => {
  const worlds = [await newWorld(), await newWorld()];
  for (const world of worlds) {
    await world.client.cancel(await world.waiting());
    await giveUp(world);
  }
  const [broken] = worlds;
  const list = env.FILES.list.bind(env.FILES);
  captureLog("error");
  vi.spyOn(env.FILES, "list").mockImplementation(async (options) => {
    if (options?.prefix?.startsWith(broken?.user_id ?? "")) throw new Error("R2 is down");
    return list(options);
  });
  await eventually(async () => {
    await sweep();
    await keepUp(worlds[1]?.user_id ?? "");
    expect(await countRows(worlds[1]?.user_id ?? "")).toBe(0);
  });
  expect(await run("SELECT id FROM models WHERE owner_id = ?", broken?.user_id)).toHaveLength(1);
  vi.restoreAllMocks();
  await sweeps(worlds[0] ?? expect.fail());
  expect(await run("SELECT id FROM models WHERE owner_id = ?", broken?.user_id)).toEqual([]);
});
