/** Paths at which weights may be mounted. */
import { describe, expect, test } from "vitest";
import { configuration } from "../../src/protocol/model.ts";
import { overlapProblem, targetProblem } from "../../src/protocol/weights.ts";

describe("a target", () => {
  test.each([
    "/models",
    "/models/qwen-2.5.gguf",
    "/src/weights",
    "/root/.cache/huggingface/hub",
    "/usr/share/models",
    "/usr/local/lib/model.bin",
    "/var/lib/models",
    "/process/sys",
    "/weights/ä b",
    "/lib64x",
  ])("a target may be %s", (target) => {
    expect(targetProblem(target)).toBeUndefined();
  });

  test.each([
    ["", "absolute"],
    ["models/a", "absolute"],
    ["./models", "absolute"],
    ["/", "below /"],
    ["//models", "empty"],
    ["/models/", "empty"],
    ["/models/../etc/passwd", "'..'"],
    ["/./models", "'.'"],
    ["/etc", "/etc"],
    ["/etc/passwd", "/etc"],
    ["/proc/self", "/proc"],
    ["/sys", "/sys"],
    ["/dev/shm/a", "/dev"],
    ["/run/secrets", "/run"],
    ["/bin/sh", "/bin"],
    ["/usr", "/usr/bin"],
    ["/usr/lib/libc.so.6", "/usr/lib"],
    ["/var", "/var/run"],
    ["/models\n", "control"],
    ["/models\\a", "backslash"],
    [`/${"a".repeat(255)}`, "255"],
  ])("a target may not be %j", (target, words) => {
    expect(targetProblem(target)).toContain(words);
  });
});

describe("targets", () => {
  test("targets may lie beside each other", () => {
    expect(overlapProblem(["/m/a", "/m/b", "/m/a-2", "/m/a.b"])).toBeUndefined();
  });

  test.each([
    [["/m/a", "/m/b", "/m/a"], "two weights have the target /m/a"],
    [["/m/a/b", "/m/a-", "/m/a"], "/m/a/b lies within another one, /m/a"],
  ])("the targets %j overlap", (targets, words) => {
    expect(overlapProblem(targets)).toContain(words);
  });
});

test("a configuration with wrong targets is refused with the target and the reason", () => {
  const issuesOf = (...targets: string[]) =>
    configuration.safeParse({ weights: targets.map((target) => ({ target, file: "x" })) }).error
      ?.issues;
  expect(issuesOf("/a", "/b")).toBeUndefined();
  expect(issuesOf("/a", "/etc/b")).toMatchObject([
    { path: ["weights", 1, "target"], message: expect.stringContaining("/etc") },
  ]);
  expect(issuesOf("/a", "/a")).toMatchObject([{ path: ["weights"] }]);
  expect(issuesOf(...Array.from({ length: 101 }, (_, n) => `/${n}`))).toMatchObject([
    { path: ["weights"], code: "too_big" },
  ]);
});
