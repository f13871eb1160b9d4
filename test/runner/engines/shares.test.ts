// The resources of Docker's machine, and limits of the operator that exceed them.
import { expect, test } from "vitest";
import { findOvercommitment } from "../../../runner/src/engines/docker/info.ts";

const GB = 1024 ** 3;
const MACHINE = { memory_bytes: 20 * GB, cpus: 8 };

const excess = (containers: number, settings: object) =>
  findOvercommitment(MACHINE, { containers, ...settings });

test("equal shares are never too much, nor are the operator's limits within the machine", () => {
  for (const containers of [1, 3, 7, 100]) expect(excess(containers, {})).toBeUndefined();
  expect(excess(2, { memory_bytes: 10 * GB, cpus: 8 })).toBeUndefined();
  // Each container has all cores.
  expect(excess(4, { cpus: 0 })).toBeUndefined();
});

test("a limit of more cores than Docker has is reported, because no container would start", () => {
  expect(excess(1, { cpus: 9 })).toEqual({
    detail: "each gets 9 cores, but Docker has 8 and will start none",
    advice: "set --cpus to at most 8, or 0 for all",
    fatal: true,
  });
});

test("limits with more memory in sum than the machine has are reported, because fewer containers run", () => {
  expect(excess(3, { memory_bytes: 10 * GB })).toEqual({
    detail: "only 2 of 3 containers with 10 GB of memory each can run in this machine's 20 GB",
    advice: "set --memory-gb to 6, or run fewer containers (--containers)",
    fatal: false,
  });
  expect(excess(1, { memory_bytes: 21 * GB })).toMatchObject({
    detail: expect.stringContaining("none of 1"),
    fatal: true,
  });
});
