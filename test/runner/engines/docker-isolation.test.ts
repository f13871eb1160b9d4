/** The description of how containers are isolated, and advice for more isolation. */
import { describe, expect, it } from "vitest";
import { describeIsolation, runtimeProblem } from "../../../runner/src/engines/docker/info.ts";

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
