import { expect, it } from "vitest";
import { FreePorts } from "../../../runner/src/engines/process/process-engine.ts";

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
