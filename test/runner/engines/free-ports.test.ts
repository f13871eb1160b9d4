import { expect, it } from "vitest";
import { FreePorts } from "../../../runner/src/engines/process/free-ports.ts";

const naming = (...ports: number[]) => {
  const named = ports.values();
  return new FreePorts("127.0.0.1", async () => named.next().value ?? ports.at(-1));
};

it("gives no port twice, though the system names it again", async () => {
  const ports = naming(5_001, 5_001, 5_002, 5_001, 5_003);
  expect([await ports.take(), await ports.take(), await ports.take()]).toEqual([
    5_001, 5_002, 5_003,
  ]);
});

it("says when there is none", async () => {
  const ports = naming(5_001);
  await ports.take();
  await expect(ports.take()).rejects.toThrow("no port is free");
});

it("gives different ones to many that ask at once", async () => {
  const ports = new FreePorts("127.0.0.1");
  const taken = await Promise.all(Array.from({ length: 200 }, () => ports.take()));
  expect(new Set(taken).size).toBe(taken.length);
});
