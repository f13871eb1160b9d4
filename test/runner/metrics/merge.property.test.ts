/** The metrics of containers that write anything at all: the exposition stays valid, and each series is labeled. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { mergedFamilies, type Origin } from "../../../runner/src/metrics/merge.ts";
import { MAX_POINTS, parseMetrics } from "../../../runner/src/metrics/parse.ts";
import { expositionOf } from "../../../src/lib/openmetrics.ts";
import { processorMs } from "../../support/processor-time.ts";
import { readOpenMetrics } from "../support/openmetrics.ts";

const ORIGINS: Origin[] = ["0", "1", "2"].map((container) => ({
  runner: "box",
  model: "ada/story",
  version: "3",
  container,
}));

const expose = (texts: string[]): string =>
  expositionOf(
    mergedFamilies(
      texts.map((text, n) => ({ origin: ORIGINS[n] ?? fail(), text: parseMetrics(text) })),
    ),
  );

const fail = (): never => {
  throw new Error("too many containers");
};

const name = fc
  .tuple(
    fc.constantFrom("a", "a", "b", "vllm:x", "auspex_gpu", "auspex", "up", "_", "exported", "é"),
    fc.constantFrom(
      "",
      "",
      "_total",
      "_bucket",
      "_sum",
      "_count",
      "_created",
      "_info",
      "_total_total",
    ),
  )
  .map((parts) => parts.join(""));
const type = fc.constantFrom("counter", "gauge", "histogram", "summary", "info", "untyped", "x");
const evil = fc.constantFrom('"', "\\", "\n", "\r", "}", "{", ",", '"} 1\nauspex_up 1\n', "# EOF");
const value = fc.oneof(
  fc.constantFrom("0", "1", "7", "+Inf", "-Inf", "NaN", "-1", "1e3", "0.5", "0x10", "1_000", ""),
  fc.double().map(String),
);
const told = fc
  .array(fc.oneof(evil, fc.string({ unit: "binary", maxLength: 4 })), { maxLength: 4 })
  .map((parts) => parts.join(""));
const escapedOrNot = fc
  .tuple(told, fc.boolean())
  .map(([text, isEscaped]) =>
    isEscaped ? text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n") : text,
  );
const label = fc
  .tuple(
    fc
      .constantFrom("le", "le", "quantile", "runner", "model", "version", "container")
      .chain((one) => fc.constantFrom(one, one, `exported_${one}`, "__name__", "a", "1")),
    fc.oneof(fc.constantFrom("0.1", "1", "1.0", "+Inf", "Inf", "-1", "NaN", ""), escapedOrNot),
  )
  .map(([key, text]) => `${key}="${text}"`);
const labels = fc.array(label, { maxLength: 3 }).map((all) => `{${all.join(",")}}`);
const line = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(name, type).map(([one, kind]) => `# TYPE ${one} ${kind}`) },
  { weight: 1, arbitrary: fc.tuple(name, told).map(([one, text]) => `# HELP ${one} ${text}`) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(name, fc.oneof(fc.constant(""), labels), value, fc.constantFrom("", " 1", " # {} 1"))
      .map(([one, of, number, rest]) => `${one}${of} ${number}${rest}`),
  },
  { weight: 1, arbitrary: told },
);
const text = fc.array(line, { maxLength: 40 }).map((lines) => `${lines.join("\n")}\n`);

const histogram = fc
  .tuple(name, fc.array(fc.tuple(fc.constantFrom("0.1", "1", "1.0", "5"), fc.nat(3))), fc.nat(3))
  .map(([one, buckets, count]) =>
    [
      `# TYPE ${one} histogram`,
      ...buckets.map(([le, number]) => `${one}_bucket{le="${le}"} ${number}`),
      `${one}_bucket{le="+Inf"} 3`,
      `${one}_sum 1`,
      `${one}_count ${count}`,
    ].join("\n"),
  );

test("whatever containers write, the exposition is valid and each series says whose it is", () => {
  const hostile = fc.array(fc.tuple(text, histogram, text), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(hostile, (all) => {
      const series = readOpenMetrics(expose(all.map((parts) => parts.join("\n"))));
      for (const { name, labels } of series) {
        expect(name).not.toMatch(/^(auspex(_|$)|up$)/);
        const { container = "", ...others } = Object.fromEntries(labels);
        expect(others).toMatchObject({ runner: "box", model: "ada/story", version: "3" });
        expect(Number(container)).toBeLessThan(all.length);
      }
    }),
    { numRuns: 300 },
  );
});

test("a container takes no series of another one, whatever it writes", () => {
  const quiet = "# TYPE a counter\na_total 1\n# TYPE b gauge\nb 2\nc 3\n";
  const names = ["a_total", "b", "c"];
  fc.assert(
    fc.property(text, histogram, fc.boolean(), (some, more, isFirst) => {
      const hostile = `${some}\n${more}`;
      const texts = isFirst ? [hostile, quiet] : [quiet, hostile];
      const series = readOpenMetrics(expose(texts));
      const own = series.filter(({ labels }) => labels.get("container") === (isFirst ? "1" : "0"));
      expect(own.map(({ name, value }) => [name, value]).sort()).toEqual(
        names.map((name, n) => [name, String(n + 1)]),
      );
    }),
    { numRuns: 200 },
  );
});

test("a container has at most 5,000 series, and long texts are read in time", () => {
  const many = Array.from({ length: 2 * MAX_POINTS }, (_, n) => `a{n="${n}"} 1`).join("\n");
  const { points, dropped } = parseMetrics(many);
  expect([points.length, dropped]).toEqual([MAX_POINTS, MAX_POINTS]);
  const size = 4 * 1024 ** 2;
  const long = [
    "\n".repeat(size),
    `a{b="${"\\".repeat(size)}"} 1`,
    `a{${'b="c",'.repeat(size / 6)}} 1`,
    `a${" ".repeat(size)}x`,
    `# TYPE a_bucket histogram\n${'a_bucket{le="1"} 1\n'.repeat(size / 20)}`,
  ];
  const began = processorMs();
  for (const one of long) expose([one]);
  expect(processorMs() - began).toBeLessThan(5_000);
});
