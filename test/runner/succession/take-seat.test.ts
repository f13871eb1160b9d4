import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Door, Household, Successor } from "../../../runner/src/succession/door.ts";
import {
  type HandedContainer,
  SUCCESSION_PROTOCOL,
} from "../../../runner/src/succession/messages.ts";
import { openSocketFolder } from "../../../runner/src/succession/socket-path.ts";
import { type TakenSeat, takeSeat } from "../../../runner/src/succession/take-seat.ts";
import { recordedLog } from "../support/docker-box.ts";

const never = new AbortController().signal;

/** A name of more than 107 characters, as a socket's path must not have. */
let folder: string;
let identity: string;
const open: { door?: Door | undefined; seat: TakenSeat }[] = [];

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "auspex-seat-")), "x".repeat(120));
  identity = randomUUID();
});
afterEach(async () => {
  for (const { door, seat } of open.splice(0)) {
    door?.close();
    await seat.leave();
  }
  rmSync(folder, { recursive: true, force: true });
});

const STATE = {
  process: "first",
  ports: [5_001],
  running: ["p"],
  containers: [],
  handed: [],
} as const;

function household() {
  const successors: Successor[] = [];
  const ports: (number | undefined)[] = [];
  let running = ["p"];
  const kept: Household = {
    state: () => ({ ...STATE, ports: [...STATE.ports], running, containers: [], handed: [] }),
    letThrough: async (port) => void ports.push(port),
    succeeded: (successor) => void successors.push(successor),
  };
  return { kept, successors, ports, runs: (ids: string[]) => (running = ids) };
}

async function enter({ terms = "", log = recordedLog(), stop = never } = {}) {
  const seat = await takeSeat({ identity, folder, terms, log, stop });
  if (!seat) throw new Error("stopped");
  const entered: (typeof open)[number] = { seat };
  open.push(entered);
  return entered;
}

async function settle(entered: (typeof open)[number], kept = household().kept): Promise<Door> {
  const door = await entered.seat.open(kept);
  if (!door) throw new Error("no door");
  entered.door = door;
  return door;
}

const leave = async (entered: (typeof open)[number]) => {
  open.splice(open.indexOf(entered), 1);
  entered.door?.close();
  await entered.seat.leave();
};

const HANDED: HandedContainer = {
  name: "c1",
  key: "k",
  model: { owner: "ada", name: "hello", version_number: 1 },
  image: { repository: "r", digest: `sha256:${"a".repeat(64)}` },
  keys: { container: "k", files: "f" },
  interface: "cog",
  hardware: { identifier: "cpu", gpus: 0 },
  egress: "public",
  max_concurrency: 1,
  handle: { id: "abc", address: "http://127.0.0.1:9" },
  token: "t",
  upload_url: "http://127.0.0.1:5001/x",
  image_bytes: 1,
  idle_ms: 1,
  has_run: true,
};

test("the first process is alone, and the next one hears what it has", async () => {
  const first = await enter();
  expect(first.seat.seat).toMatchObject({ number: 0, isAlone: true });
  expect(first.seat.predecessor).toBeUndefined();
  const { kept, ports, successors, runs } = household();
  const door = await settle(first, kept);
  const second = await enter();
  expect(second.seat.seat).toMatchObject({ number: 1, isAlone: false });
  const { predecessor } = second.seat;
  expect(predecessor?.state).toEqual(STATE);
  const changed = new Promise<void>((resolve) => {
    if (predecessor) predecessor.onChange = resolve;
  });
  runs(["p", "q"]);
  door.changed();
  door.changed();
  await changed;
  expect(predecessor?.state?.running).toEqual(["p", "q"]);
  await predecessor?.listening(5_002);
  expect(ports).toEqual([5_002]);
  expect(successors).toEqual([]);
});

test("one that has registered gets containers, and is told when the ports are free", async () => {
  const first = await enter();
  const { kept, successors } = household();
  const door = await settle(first, kept);
  const { predecessor } = (await enter()).seat;
  const got: HandedContainer[] = [];
  if (predecessor) predecessor.onContainer = (container) => got.push(container);
  predecessor?.registered();
  await vi.waitFor(() => expect(successors).toHaveLength(1));
  const [successor] = successors;
  expect(door.successor).toBe(successor);
  expect(await successor?.give(HANDED)).toBe(true);
  expect(got).toEqual([HANDED]);
  successor?.released();
  await predecessor?.released();
  await leave(first);
  await predecessor?.ended;
  expect(predecessor?.state).toBeUndefined();
});

test("a firewall that cannot be changed is no reason to wait for ever, nor to end", async () => {
  const first = await enter();
  const { kept } = household();
  await settle(first, {
    ...kept,
    letThrough: () => Promise.reject(new Error("iptables is away")),
  });
  const { predecessor } = (await enter()).seat;
  await predecessor?.listening(5_002);
  expect(predecessor?.state).toEqual(STATE);
});

test("one that goes without having registered leaves things as they were", async () => {
  const first = await enter();
  const { kept, ports, successors } = household();
  const door = await settle(first, kept);
  const second = await enter();
  await second.seat.predecessor?.listening(5_002);
  second.seat.predecessor?.close();
  await vi.waitFor(() => expect(ports).toEqual([5_002, undefined]));
  expect(successors).toEqual([]);
  expect(door.successor).toBeUndefined();
});

test("what is given to one that has gone is not taken", async () => {
  const first = await enter();
  const { kept, ports, successors } = household();
  const door = await settle(first, kept);
  const { predecessor } = (await enter()).seat;
  await predecessor?.listening(5_002);
  predecessor?.registered();
  await vi.waitFor(() => expect(successors).toHaveLength(1));
  predecessor?.close();
  await vi.waitFor(() => expect(door.successor).toBeUndefined());
  // Any program may have its port.
  expect(ports).toEqual([5_002, undefined]);
  expect(await successors[0]?.give(HANDED)).toBe(false);
});

test("one with other settings waits until the first has ended, and says so", async () => {
  const first = await enter();
  await settle(first);
  const log = recordedLog();
  const second = enter({ terms: "other", log });
  await vi.waitFor(() => expect(log.lines.join()).toMatch(/other settings.*Stop it.*--name/));
  await leave(first);
  const { seat } = await second;
  expect(seat.predecessor).toBeUndefined();
  expect(seat.seat).toMatchObject({ number: 1, isAlone: true });
});

/** One that is not as this version's. */
async function visitor(seat: number) {
  const sockets = await openSocketFolder(folder);
  const socket = connect(sockets.path(seat)).on("error", () => {});
  await once(socket, "connect");
  await sockets.close();
  const say = (message: object) => void socket.write(`${JSON.stringify(message)}\n`);
  return { socket, say };
}

const HELLO = { kind: "hello", protocol: SUCCESSION_PROTOCOL, terms: "" };

test("one that is refused has no say", async () => {
  const first = await enter();
  const { kept, ports, successors } = household();
  const door = await settle(first, kept);
  const { socket, say } = await visitor(0);
  say({ ...HELLO, protocol: 2 });
  say({ kind: "listening", port: 5_002 });
  say({ kind: "registered" });
  await new Promise((resolve) => socket.resume().on("close", resolve));
  await vi.waitFor(async () => expect((await enter()).seat.predecessor).toBeDefined());
  expect(ports).toEqual([]);
  expect(successors).toEqual([]);
  expect(door.successor).toBeUndefined();
});

test("one that hangs does not hear everything", async () => {
  const first = await enter();
  const { kept } = household();
  const running = Array.from({ length: 1_000 }, () => randomUUID());
  const state = vi.fn(() => ({ ...kept.state(), running }));
  const door = await settle(first, { ...kept, state });
  const { socket, say } = await visitor(0);
  say(HELLO);
  await vi.waitFor(() => expect(state).toHaveBeenCalled());
  for (let n = 0; n < 300; n++) {
    door.changed();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(state.mock.calls.length).toBeLessThan(100);
  running.splice(1);
  const lines: string[] = [];
  createInterface({ input: socket }).on("line", (line) => lines.push(line));
  // But always the last.
  await vi.waitFor(() => expect(lines.at(-1)?.length).toBeLessThan(1_000));
  socket.destroy();
});

test("one that is killed before it has read everything leaves the other alive", async () => {
  const first = await enter();
  const { kept } = household();
  const running = Array.from({ length: 1_000 }, () => randomUUID());
  const door = await settle(first, { ...kept, state: () => ({ ...kept.state(), running }) });
  const { socket, say } = await visitor(0);
  say(HELLO);
  for (let n = 0; n < 20; n++) {
    door.changed();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const decided = door.decided();
  // Its connection breaks, which is more than its end.
  socket.destroy();
  await decided;
  expect((await enter()).seat.predecessor).toBeDefined();
});

test("one that is there, and answers nothing, is waited for in words, and can be left", async () => {
  const first = await enter();
  const sockets = await openSocketFolder(folder);
  const server = createServer(() => {}).listen(sockets.path(0));
  const [log, stop] = [recordedLog(), new AbortController()];
  const second = takeSeat({ identity, folder, terms: "", log, stop: stop.signal });
  await vi.waitFor(() => expect(log.lines.join()).toMatch(/does not answer/), { timeout: 15_000 });
  stop.abort();
  expect(await second).toBeUndefined();
  server.close();
  await sockets.close();
  await leave(first);
});

test("who is about to take over is waited for, and nobody else comes in", async () => {
  const first = await enter();
  const { kept } = household();
  const door = await settle(first, kept);
  await door.decided();
  const { predecessor } = (await enter()).seat;
  const decided = vi.fn();
  void door.decided().then(decided);
  door.shut();
  await expect(visitor(0)).rejects.toThrow();
  expect(decided).not.toHaveBeenCalled();
  predecessor?.registered();
  await vi.waitFor(() => expect(decided).toHaveBeenCalled());
});

test("one that has not said who it is when the door is shut does not come in", async () => {
  const first = await enter();
  const { kept } = household();
  const state = vi.fn(kept.state);
  const door = await settle(first, { ...kept, state });
  const { socket, say } = await visitor(0);
  await new Promise((resolve) => setTimeout(resolve, 20));
  door.shut();
  say(HELLO);
  await new Promise((resolve) => socket.resume().on("close", resolve));
  expect(state).not.toHaveBeenCalled();
});

test("settings may have any character", async () => {
  const first = await takeSeat({
    identity,
    folder,
    terms: "a\u2028b",
    log: recordedLog(),
    stop: never,
  });
  if (!first) throw new Error("stopped");
  const entered: (typeof open)[number] = { seat: first };
  open.push(entered);
  await settle(entered);
  expect((await enter({ terms: "a\u2028b" })).seat.predecessor).toBeDefined();
});

test("a third one waits for a seat, and a fourth behind it; either can be stopped", async () => {
  const first = await enter();
  await settle(first);
  const second = await enter();
  await settle(second);
  const [log, stop] = [recordedLog(), new AbortController()];
  const third = takeSeat({ identity, folder, terms: "", log, stop: never });
  await vi.waitFor(() => expect(log.lines.join()).toContain("two processes"));
  const fourth = takeSeat({ identity, folder, terms: "", log, stop: stop.signal });
  await vi.waitFor(() => expect(log.lines.join()).toContain("about to start"));
  stop.abort();
  expect(await fourth).toBeUndefined();
  await leave(first);
  const seat = await third;
  if (seat) open.push({ seat });
  expect(seat?.seat).toMatchObject({ number: 0, isAlone: false });
  expect(seat?.predecessor?.state).toBeDefined();
});

test("others need not wait", async () => {
  await enter();
  identity = randomUUID();
  expect((await enter()).seat.seat.isAlone).toBe(true);
});
