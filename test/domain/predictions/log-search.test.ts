/** Search in a log: lines are shown by their level and by the text that they contain. */
import { expect, test } from "vitest";
import { isWanted, levelOf, withHits } from "../../../src/domain/predictions/log-search.ts";

test.each([
  ["INFO:     Started server process [1]", "info"],
  ["2026-11-27 05:00:00,123 - vllm - WARNING - slow", "warning"],
  ["[error] no such file", "error"],
  ["WARN  tokenizer: unknown", "warning"],
  ['{"level": "warn", "msg": "late"}', "warning"],
  ['{"severity":"INFO","logger":"cog.server"}', "info"],
  ["time=1 level=debug msg=x", "debug"],
  ["E1127 05:00:00.000000 12 cuda.cc:3] no device", "error"],
  ["Traceback (most recent call last):", "error"],
  ["torch.cuda.OutOfMemoryError: CUDA out of memory", "error"],
  ["/usr/lib/x.py:3: FutureWarning: soon", "warning"],
  ["thread 'main' panicked at src/main.rs:1", "error"],
  ["CRITICAL: gone", "error"],
  ["loaded 3 errors.txt", undefined],
  ["DEBUG_INFO=1 path/ERROR", undefined],
  ["Loading weights", undefined],
  ["", undefined],
])("the level of %s is %s", (line, level) => {
  expect(levelOf(line)).toBe(level);
});

test("an indented line has the level of the line before it", () => {
  expect(levelOf('  File "predict.py", line 3', "error")).toBe("error");
  expect(levelOf("\tat INFO", "error")).toBe("error");
  expect(levelOf("done", "error")).toBeUndefined();
});

test("a filter for a level shows its lines and those of more serious levels", () => {
  const wanted = (level: "info" | "error") =>
    (["debug", "info", "warning", "error", undefined] as const).filter((of) =>
      isWanted("x", of, { find: "", level }),
    );
  expect(wanted("info")).toEqual(["info", "warning", "error"]);
  expect(wanted("error")).toEqual(["error"]);
  expect(isWanted("Loading Weights", undefined, { find: "weights", level: undefined })).toBe(true);
  expect(isWanted("Loading", undefined, { find: "weights", level: undefined })).toBe(false);
});

test("hits are marked across styles and regardless of case", () => {
  const segments = [
    { text: "loading wei", style: "" },
    { text: "ghts, WEIGHTS", style: "bold" },
  ];
  const shown = withHits(segments, "weights").map(({ text, style, hit }) => [text, style, hit]);
  expect(shown).toEqual([
    ["loading ", "", false],
    ["wei", "", true],
    ["ghts", "bold", true],
    [", ", "bold", false],
    ["WEIGHTS", "bold", true],
  ]);
  expect(withHits(segments, "").map(({ text }) => text)).toEqual(["loading wei", "ghts, WEIGHTS"]);
  const many = withHits([{ text: "ab".repeat(10_000), style: "" }], "b");
  expect(many.filter(({ hit }) => hit)).toHaveLength(20);
  expect(many.map(({ text }) => text).join("")).toBe("ab".repeat(10_000));
  // This capital has two units as a small letter.
  expect(withHits([{ text: "\u0130\u0130a", style: "" }], "a").at(-1)).toMatchObject({
    text: "a",
    hit: true,
  });
});
