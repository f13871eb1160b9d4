import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, test } from "vitest";
import { createLog, type LogOptions } from "../../../runner/src/lib/log.ts";
import { ScratchFolders } from "../../../runner/src/lib/scratch.ts";

function lines(options: Partial<LogOptions> = {}) {
  const written: string[] = [];
  const write = (line: string) => written.push(line);
  return { written, log: createLog({ level: "info", format: "text", write, ...options }) };
}

test("each event is one line, with the fields of its context", () => {
  const { log, written } = lines();
  log.with({ attempt: 1 }).info("succeeded", { seconds: 0.5, source: undefined });
  log.debug("not shown");
  expect(written).toEqual([
    expect.stringMatching(/^\d\d:\d\d:\d\d\.\d{3} info {2}succeeded attempt=1 seconds=0.5\n$/),
  ]);
});

test("a text from elsewhere cannot forge a log line", () => {
  const { log, written } = lines();
  log.warn("odd\n00:00:00", { reason: 'a b="c"\nd\u001b[2J' });
  expect(written.join("").split("\n").length).toBe(2);
  expect(written[0]).toContain(String.raw`"odd\n00:00:00" reason="a b=\"c\"\nd\u001b[2J"`);
});

test("JSON lines have errors with their stack", () => {
  const { log, written } = lines({ format: "json", level: "error" });
  log.warn("not shown");
  log.error("broken", { error: new Error("why") });
  expect(JSON.parse(written.join(""))).toMatchObject({
    level: "error",
    message: "broken",
    error: expect.stringContaining("Error: why\n"),
  });
});

it("a sweep of a folder that others also use removes only its own names", async () => {
  const root = mkdtempSync(join(tmpdir(), "auspex-scratch-test-"));
  const others = [
    "auspex-scratch-",
    "my auspex-scratch-Abc123",
    "auspex-scratch-Abc1234",
    "thesis",
  ];
  for (const name of others) mkdirSync(join(root, name));
  writeFileSync(join(root, "thesis.txt"), "mine");
  const folders = new ScratchFolders(root);
  const made = await folders.make();
  expect(statSync(made).mode & 0o777).toBe(0o700);
  writeFileSync(join(made, "file"), "");
  expect(readdirSync(root)).toContain(basename(made));
  await new ScratchFolders(root).sweep();
  expect(readdirSync(root).sort()).toEqual([...others, "thesis.txt"].sort());
  rmSync(root, { recursive: true });
});

it("a sweep keeps the folders of adopted containers", async () => {
  const root = mkdtempSync(join(tmpdir(), "auspex-scratch-test-"));
  const folders = new ScratchFolders(root);
  const [kept] = [await folders.make(), await folders.make()];
  await new ScratchFolders(root).sweep([kept]);
  expect(readdirSync(root)).toEqual([basename(kept)]);
  rmSync(root, { recursive: true });
});

const here = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

it("an unhandled rejection is logged and does not end the runner", async () => {
  const script = `
    import { createLog, surviveUnhandledRejections } from ${here("../../../runner/src/lib/log.ts")};
    surviveUnhandledRejections(createLog({ level: "info", format: "text" }));
    Promise.reject(new Error("nobody hears me"));
    setImmediate(() => console.log("alive"));
  `;
  const runner = spawn(process.execPath, ["--input-type=module", "-e", script]);
  const [told, said, [code]] = await Promise.all([
    text(runner.stderr),
    text(runner.stdout),
    once(runner, "exit"),
  ]);
  expect({ code, said }).toEqual({ code: 0, said: "alive\n" });
  expect(told).toMatch(/ error unhandled rejection; this is a bug in the runner.*nobody hears me/);
});
