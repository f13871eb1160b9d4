/** Texts of OpenMetrics: what strangers can write into them, and how many series there are. */
import { expect, test } from "vitest";
import { gaugesOf, type PoolGauges } from "../../src/domain/metrics/gauges.ts";
import { expositionOf, type Family, limited } from "../../src/lib/openmetrics.ts";

const family = (name: string, samples: number): Family => ({
  ...{ name, type: "gauge" },
  samples: Array.from({ length: samples }, (_, n) => ({ labels: { n }, value: n })),
});

test("the series beyond the most of an exposition are left out from its end", () => {
  const sizes = limited([family("a", 4), family("b", 4), family("c", 4)], 6);
  expect(sizes.map(({ samples }) => samples.length)).toEqual([4, 2, 0]);
  expect(expositionOf(sizes)).not.toContain("# TYPE c");
});

test("a label of a stranger stays between its quotes and on its line", () => {
  const labels = { model: 'a"} 1\nauspex_up 1\r\\' };
  const text = expositionOf([{ name: "x", type: "gauge", samples: [{ labels, value: 1 }] }]);
  expect(text.split("\n").filter((line) => !line.startsWith("#"))).toEqual([
    'x{model="a\\"} 1\\nauspex_up 1 \\\\"} 1',
    "",
  ]);
});

test("the containers of many pools share their places in an exposition", () => {
  const containers = Array.from({ length: 300 }, (_, n) => ({
    ...{ model: `ada/m${n}`, state: "ready", count: 1 },
  }));
  const empty = { classes: [], waiting: [], runners: [], slots: [], gpus: [], disks: [] };
  const of = (count: number) => {
    const pools = Array.from(
      { length: count },
      (_, n): PoolGauges => ({
        ...empty,
        ...{ pool: `p${n}`, containers },
      }),
    );
    return gaugesOf(pools).find(({ name }) => name === "auspex_containers")?.samples.length;
  };
  expect([of(1), of(5), of(50)]).toEqual([300, 1_500, 1_500]);
});
