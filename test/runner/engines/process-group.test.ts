/** The memory of real processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { afterEach, expect, it, test, vi } from "vitest";
import { FreePorts } from "../../../runner/src/engines/process/process-engine.ts";
import {
  residentMemory,
  signalGroup,
  spawnGroup,
} from "../../../runner/src/engines/process/process-group.ts";
import { openBox, QUICK } from "../support/containers.ts";

const never = new AbortController().signal;
const BYTES = 60_000_000;
/** A script that prints its pid once it has allocated its bytes, and keeps them. */
const HOLD = `const held = Buffer.alloc(${BYTES}, 1);
  console.log(process.pid);
  setInterval(() => held[0], 1000);`;

const started: number[] = [];
afterEach(() => {
  for (const pid of started.splice(0)) signalGroup(pid, "SIGKILL");
});

/** Resolves once `count` pids were printed. */
async function saying(child: ChildProcess, count: number): Promise<string[]> {
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk;
  });
  const lines = () => text.split("\n").slice(0, -1);
  await vi.waitFor(() => expect(lines()).toHaveLength(count), 10_000);
  return lines();
}

async function group(script: string, count: number) {
  const child = spawnGroup({
    command: ["sh", "-c", script],
    directory: tmpdir(),
    environment: { PATH: process.env.PATH ?? "", NODE: process.execPath, HOLD },
  });
  const pid = child.pid ?? expect.unreachable();
  started.push(pid);
  const pids = await saying(child, count);
  return { child, pid, pids };
}

test("the memory is that of a process and all its descendants, also of those that left its group", async () => {
  const both = await group('"$NODE" -e "$HOLD" & setsid "$NODE" -e "$HOLD" & wait', 2);
  started.push(...both.pids.map(Number).filter((pid) => pid !== both.pid));
  const one = await group('exec "$NODE" -e "$HOLD"', 1);
  const used = await residentMemory([both.pid, one.pid], never);
  const [ofBoth = 0, ofOne = 0] = [used.get(both.pid), used.get(one.pid)];
  expect(ofOne).toBeGreaterThan(BYTES);
  expect(ofOne).toBeLessThan(4 * BYTES);
  expect(ofBoth).toBeGreaterThan(1.5 * ofOne);
  expect(ofBoth).toBeLessThan(3 * ofOne);
});

test("the memory of a process that has ended is unknown", async () => {
  const child = spawn("true");
  await once(child, "exit");
  expect(await residentMemory([child.pid ?? 0], never)).toEqual(new Map());
});

test("the memory measurement ends with the signal", async () => {
  await expect(residentMemory([process.pid], AbortSignal.abort("late"))).rejects.toBe("late");
});

test("the memory is reported by the process engine", async () => {
  const box = await openBox(4, QUICK, { memoryIntervalMs: 20 });
  try {
    const { finish } = box.run("hello", { name: "Ada" });
    expect(await finish).toMatchObject({ status: "succeeded" });
    await vi.waitFor(() => {
      const [{ memory_bytes = 0 } = {}] = box.executor.state().containers;
      // A server in Node takes tens of MB.
      expect(memory_bytes).toBeGreaterThan(20e6);
      expect(memory_bytes).toBeLessThan(1e9);
    });
  } finally {
    await box.close();
  }
});

const naming = (...ports: number[]) => {
  const named = ports.values();
  return new FreePorts("127.0.0.1", async () => named.next().value ?? ports.at(-1));
};

it("no port is given twice, though the system names it again", async () => {
  const ports = naming(5_001, 5_001, 5_002, 5_001, 5_003);
  expect([await ports.take(), await ports.take(), await ports.take()]).toEqual([
    5_001, 5_002, 5_003,
  ]);
});

it("a missing free port is an error", async () => {
  const ports = naming(5_001);
  await ports.take();
  await expect(ports.take()).rejects.toThrow("no port is free");
});

it("many callers at once get different ports", async () => {
  const ports = new FreePorts("127.0.0.1");
  const taken = await Promise.all(Array.from({ length: 200 }, () => ports.take()));
  expect(new Set(taken).size).toBe(taken.length);
});
