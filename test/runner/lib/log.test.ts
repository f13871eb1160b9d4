import { expect, test } from "vitest";
import { createLog, type LogOptions } from "../../../runner/src/lib/log.ts";

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
