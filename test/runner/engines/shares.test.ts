// What one container gets of its machine, and what is too much.
import { expect, test } from "vitest";
import { dockerInfo } from "../../../runner/src/engines/docker/info.ts";
import { computeShares, findOvercommitment } from "../../../runner/src/engines/docker/shares.ts";

const GB = 1024 ** 3;
const info = dockerInfo.parse({
  ServerVersion: "28.0",
  Driver: "overlay2",
  DockerRootDir: "/",
  NCPU: 8,
  MemTotal: 20 * GB,
});

const excess = async (containers: number, sandbox: object) =>
  findOvercommitment(info, await computeShares(info, { containers, sandbox }), containers);

test("equal shares are never too much, nor is what an operator gives within the machine", async () => {
  for (const containers of [1, 3, 7, 100]) expect(await excess(containers, {})).toBeUndefined();
  expect(await excess(2, { memory_bytes: 10 * GB, cpus: 8 })).toBeUndefined();
  // All cores, for each.
  expect(await excess(4, { cpus: 0 })).toBeUndefined();
});

test("more cores than Docker has: it would start nothing", async () => {
  expect(await excess(1, { cpus: 9 })).toEqual({
    detail: "each gets 9 cores, but Docker has 8 and will start none",
    advice: "set --cpus to at most 8, or 0 for all",
    fatal: true,
  });
});

test("more memory than the machine has, in sum", async () => {
  expect(await excess(3, { memory_bytes: 10 * GB })).toEqual({
    detail:
      "3 containers with 10 GB of memory exceed this machine's 20 GB: the kernel may kill any program",
    advice: "set --memory-gb to 6, or run fewer containers (--containers)",
    fatal: false,
  });
  expect(await excess(1, { memory_bytes: 21 * GB })).toMatchObject({ fatal: false });
});
