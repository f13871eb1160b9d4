/** Removal of files when the disk is full: its order and its log lines. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, test } from "vitest";
import { DiskSpace, diskUsage, onDiskOf } from "../../../runner/src/disk/disk-space.ts";
import {
  defaultKeptFree,
  type Evictable,
  evictionOrder,
} from "../../../runner/src/disk/evictable.ts";
import { recordedLog } from "../support/docker-box.ts";

const GB = 1024 ** 3;
const never = new AbortController().signal;

test("the least recently used item is removed first, and items in use stay", () => {
  const item = (name: string, lastUsed: number, inUse = false): Evictable => {
    return { kind: "image", name, size: 1, lastUsed, inUse, remove: async () => true };
  };
  const all = [item("c", 3), item("a", 1), item("running", 0, true), item("b", 2)];
  expect(evictionOrder(all).map(({ name }) => name)).toEqual(["a", "b", "c"]);
});

test.each([
  [100 * GB, 10 * GB],
  [4_000 * GB, 50 * GB],
])("a disk of %i bytes has %i bytes kept free by default", (disk, kept) => {
  expect(defaultKeptFree(disk)).toBe(kept);
});

test("items on another disk make no room on this one", async () => {
  const at = (folder: string) => ({ folder, evictables: async () => [] });
  const [here, notYet, elsewhere] = [at(tmpdir()), at(join(tmpdir(), "a", "b")), at("/proc/self")];
  expect(await onDiskOf([tmpdir()], [here, notYet, elsewhere])).toEqual([here, notYet]);
  expect(await onDiskOf(["/proc"], [here, elsewhere])).toEqual([elsewhere]);
});

test("the fullest of the disks that are visible here counts", async () => {
  const { free, total } = await diskUsage([tmpdir(), "/nowhere"]);
  expect(free).toBeGreaterThan(0);
  expect(total).toBeGreaterThanOrEqual(free);
  // The disk `/proc` has no room at all.
  expect(await diskUsage([tmpdir(), "/proc"])).toEqual({ free: 0, total: 0 });
  await expect(diskUsage(["/nowhere"])).rejects.toThrow("/nowhere");
});

describe("the room on the disk", () => {
  let free: number;
  let items: Evictable[];
  let removed: string[];
  let log: ReturnType<typeof recordedLog>;
  let space: DiskSpace;

  const add = (name: string, gb: number, lastUsed: number, more: Partial<Evictable> = {}) => {
    const remove = async () => {
      removed.push(name);
      free += gb * GB;
      items = items.filter((one) => one.name !== name);
      return true;
    };
    items.push({ kind: "image", name, size: gb * GB, lastUsed, inUse: false, remove, ...more });
  };

  beforeEach(() => {
    [free, items, removed, log] = [20 * GB, [], [], recordedLog()];
    const usage = async () => ({ free, total: 100 * GB });
    space = new DiskSpace({ usage, keptFree: 10 * GB, log });
    space.add({ folder: "/", evictables: async () => items });
  });

  it("the disk is left alone while there is enough room", async () => {
    add("a", 5, 1);
    await space.watch(never);
    expect(removed).toEqual([]);
    expect(await space.hasRoom(10 * GB)).toBe(true);
    expect(await space.hasRoom(10 * GB + 1)).toBe(false);
  });

  it("room is made by removing no more than needed, and the log says why", async () => {
    add("newest", 5, Date.UTC(2026, 10, 3));
    add("oldest", 5, Date.UTC(2026, 10, 1));
    add("older", 5, Date.UTC(2026, 10, 2));
    free = 2 * GB;
    await space.watch(never);
    expect(removed).toEqual(["oldest", "older"]);
    expect(log.lines[0]).toBe(
      `info removed image ${JSON.stringify({
        why: "the disk is nearly full",
        image: "oldest",
        size_gb: 5,
        last_used: "2026-11-01T00:00:00.000Z",
        free_before_gb: 2,
        free_after_gb: 7,
        wanted_gb: 10,
      })}`,
    );
    expect(log.lines).toHaveLength(2);
  });

  it("room is made for the next item, in addition to the part that is kept free", async () => {
    add("a", 5, 1);
    add("b", 5, 2);
    expect(await space.makeRoom(12 * GB, "space needed for an image", never)).toBe(true);
    expect(removed).toEqual(["a"]);
    expect(log.lines[0]).toContain("space needed for an image");
  });

  it("room is made by removing all items that are not in use", async () => {
    add("a", 5, 1);
    add("running", 5, 0, { inUse: true });
    expect(await space.makeRoom(Number.POSITIVE_INFINITY, "full", never)).toBe(true);
    expect(removed).toEqual(["a"]);
    expect(await space.makeRoom(Number.POSITIVE_INFINITY, "full", never)).toBe(false);
  });

  it("an item that frees nothing or cannot be removed makes no room, and is tried once", async () => {
    let asked = 0;
    add("shared", 5, 1, { remove: async () => true });
    add("taken", 5, 2, { remove: async () => false });
    add("stuck", 5, 3, {
      remove: async () => {
        asked++;
        throw new Error("device busy");
      },
    });
    add("last", 5, 4);
    free = 6 * GB;
    await space.watch(never);
    expect(removed).toEqual(["last"]);
    expect(asked).toBe(1);
    expect(log.lines.join()).toContain("could not remove image");
    expect(log.lines.join()).toContain("device busy");
  });

  it("room that several callers need at once is made once", async () => {
    add("a", 5, 1);
    add("b", 5, 2);
    const wanted = () => space.makeRoom(12 * GB, "space needed for an image", never);
    await Promise.all([wanted(), wanted()]);
    expect(removed).toEqual(["a"]);
  });

  it("the warning that nothing is left to remove comes once, and again after there was enough", async () => {
    const warnings = () => log.lines.filter((line) => line.includes("nothing left")).length;
    free = GB;
    await space.watch(never);
    await space.watch(never);
    expect(warnings()).toBe(1);
    free = 20 * GB;
    await space.watch(never);
    free = GB;
    await space.watch(never);
    expect(warnings()).toBe(2);
  });

  it("room is not made for a job that was given up", async () => {
    add("a", 5, 1);
    const over = AbortSignal.abort(new Error("given up"));
    await expect(space.makeRoom(50 * GB, "", over)).rejects.toThrow("given up");
    expect(removed).toEqual([]);
  });
});
