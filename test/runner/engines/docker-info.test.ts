/** The description of how containers are isolated, and advice for more isolation. */
import { describe, expect, it, test } from "vitest";
import {
  describeIsolation,
  findOvercommitment,
  runtimeProblem,
} from "../../../runner/src/engines/docker/info.ts";

describe("how far containers are from root", () => {
  const info = {
    ServerVersion: "28",
    Driver: "overlay2",
    DriverStatus: null,
    DockerRootDir: "/var/lib/docker",
    OperatingSystem: "Debian",
    Runtimes: { runc: {} },
    SecurityOptions: ["name=seccomp,profile=builtin"],
    NCPU: 2,
    MemTotal: 1,
  };
  const mapped = { ...info, SecurityOptions: ["name=seccomp", "name=userns"] };

  it.each([
    [info, {}, true],
    [info, { user: "0:0" }, true],
    [info, { user: "root" }, true],
    [info, { user: "65534:65534" }, false],
    [info, { runtime: "runsc" }, false],
    [mapped, {}, false],
    [{ ...info, SecurityOptions: ["name=rootless"] }, {}, false],
  ])("the isolation of containers is described, with advice: %#", (found, sandbox, advised) => {
    expect(describeIsolation(found, sandbox).advice !== undefined).toBe(advised);
  });

  it("the isolation of a class with its own runtime is described beside the others", () => {
    const class_runtimes = new Map([["l40s", "runsc"]]);
    expect(describeIsolation(info, { runtime: "kata", class_runtimes })).toEqual({
      detail: "containers use the runtime kata; those of l40s use the runtime runsc",
    });
    const { detail, advice } = describeIsolation(info, { class_runtimes });
    expect(detail).toMatch(/^root in a container is root .*; those of l40s use the runtime runsc$/);
    expect(advice).toBeDefined();
  });

  it("the missing runtime of a setting is a problem", () => {
    expect(runtimeProblem(info, { runtime: "runsc" })).toContain("no runtime runsc");
    expect(runtimeProblem(info, { runtime: "runc" })).toBeUndefined();
    const class_runtimes = new Map([["l40s", "runsc"]]);
    expect(runtimeProblem(info, { runtime: "runc", class_runtimes })).toContain("no runtime runsc");
  });
});

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
