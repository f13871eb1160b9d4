import { expect, test } from "vitest";
import { asFailure } from "../../../runner/src/lib/failure.ts";
import { createLog } from "../../../runner/src/lib/log.ts";
import { LogRing, OfRun, redacted } from "../../../runner/src/lib/log-ring.ts";
import { MAX_RUNNER_LOG_CHARS, runnerLogRequest } from "../../../src/protocol/runner-log.ts";
import { external } from "../../../src/run/failure.ts";

const TOKEN = "a secret of any shape";

function kept() {
  const ring = new LogRing([TOKEN]);
  const written: string[] = [];
  const write = (line: string) => written.push(line);
  return { ring, written, log: createLog({ level: "info", format: "text", ring, write }) };
}

const textsOf = (ring: LogRing) => ring.lines.map(({ level, text }) => `${level} ${text}`);

test("the ring keeps log lines with their fields, up to its size", () => {
  const { ring, log } = kept();
  log.with({ attempt: 1 }).warn("disk\nfull", { free_gb: 1 });
  log.debug("not shown");
  expect(textsOf(ring)).toEqual([String.raw`warn "disk\nfull" attempt=1 free_gb=1`]);
});

test("the ring returns the last lines, at most as many as a request may have", () => {
  const { ring, log } = kept();
  for (let n = 0; n < 1_000; n++) log.info(`line ${n}`);
  expect(ring.lines).toHaveLength(500);
  expect(ring.lines.at(-1)?.text).toBe("line 999");
  for (let n = 0; n < 100; n++) log.info("é\u202e".repeat(3_000));
  const id = crypto.randomUUID();
  const request = { runner_id: id, session: id, pool: "cpu", lines: ring.lines };
  expect(runnerLogRequest.safeParse(request).success).toBe(true);
  const chars = ring.lines.reduce((sum, { text }) => sum + text.length, 0);
  expect(chars).toBeLessThanOrEqual(MAX_RUNNER_LOG_CHARS);
});

test("the ring has the kind and place of a run's errors, but none of their texts", () => {
  const { ring, written, log } = kept();
  const words = 'my medical history"\n    at home (secret.js:1:1)';
  const cause = Object.assign(new SyntaxError(words), { code: "EBAD" });
  asFailure(external(`it answered ${words}`, { cause }), log);
  asFailure(new TypeError(words), log);
  log.error("job failed", { error: new OfRun(words) });
  const shown = textsOf(ring).join("\n");
  expect(shown).not.toMatch(/medical|secret\.js/);
  expect(shown).toMatch(
    /^warn a run failed why="\(not shown\)" error="SyntaxError EBAD at .*log-ring/,
  );
  expect(shown).toMatch(/error internal error during a run error="TypeError at /);
  expect(written.filter((line) => line.includes("medical history"))).toHaveLength(3);
});

test("an error whose message was changed has no frames, because the end of the message is unknown", () => {
  const error = new Error("at first");
  error.stack = "Error: my history\n    at home";
  expect(new OfRun(error).outline).toBe("Error");
});

test.each([
  ["GET https://s.example/k/a.png?X-Amz-Signature=ab12: EOF", "GET https://s.example/k/a.png EOF"],
  ['"https://me:pass@r.example/v2/"', '"https://r.example/v2/"'],
  [`ausr_${"x".repeat(49)}, Bearer abc.def`, "…, Bearer …"],
  [`token ${TOKEN}.`, "token …."],
  // A text with line breaks is quoted like this.
  [`"said:\\naus_abcdef\\nBearer abc"`, `"said:\\n…\\nBearer …"`],
  ["http://127.0.0.1:8787: ECONNREFUSED", "http://127.0.0.1:8787: ECONNREFUSED"],
  ["r.example/x@sha256:aa", "r.example/x@sha256:aa"],
])("the text %j is shown without its secrets", (text, shown) => {
  expect(redacted(text, [TOKEN])).toBe(shown);
});
