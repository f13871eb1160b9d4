/** The counters and histograms of the deployment, as families of metrics. */
import { type Family, type Labels, limitText, type Sample } from "../../lib/openmetrics.ts";
import { UNIT } from "../../protocol/money.ts";
import { BUCKETS_MS, histogramOf, type Measures, TIMES, type TimeName } from "./measures.ts";

/**
 * Sums of one set of labels. Series of `predictions` have the outcomes and quantities, those of `times` the times.
 * Those of `gpus` are drawn in charts only.
 */
export interface CountedSeries {
  family: "predictions" | "times" | "pool" | "requests" | "deliveries" | "gpus";
  labels: Readonly<Record<string, string>>;
  counts: Measures;
}

const TIME_HELP: Record<TimeName, string> = {
  queue:
    "Time from the create until a runner had the prediction; of the last wait if runners were lost.",
  setup: "Time to pull and start the container, of predictions that waited for it.",
  run: "Time that the model ran.",
  first_output: "Time from the create to the first output.",
  total: "Time from the create to the end.",
};

const TOKENS = ["input", "cached", "output"];

const POOL_EVENTS = {
  cold_starts: "Containers that became ready.",
  evictions: "Idle containers that were stopped in favor of another model's.",
};

/** @param currency a code of ISO 4217 */
export function countersOf(series: CountedSeries[], currency: string): Family[] {
  const of = (family: CountedSeries["family"]) => series.filter((one) => one.family === family);
  const predictions = of("predictions");
  return [
    {
      name: "auspex_predictions",
      type: "counter",
      help: "Predictions that have ended.",
      samples: predictions.flatMap(({ labels, counts }) =>
        outcomesOf(counts).map(([status, error_source, value]) => ({
          labels: { ...labels, status, error_source },
          value,
        })),
      ),
    },
    ...TIMES.map((name) => histogramFamily(name, of("times"))),
    {
      name: "auspex_attempts_lost",
      type: "counter",
      help: "Attempts of predictions whose runner was lost.",
      samples: summed(predictions, ["model", "hardware"], ({ attempts_lost }) => attempts_lost),
    },
    {
      name: "auspex_tokens",
      type: "counter",
      help: "Tokens of predictions that have ended. Cached tokens are a part of the input.",
      samples: TOKENS.flatMap((type) =>
        summed(predictions, ["model"], (counts) => counts[`${type}_tokens`], { type }),
      ),
    },
    {
      name: "auspex_cost",
      type: "counter",
      help: "Cost of predictions that have ended, in units of the currency.",
      samples: summed(predictions, ["model", "hardware"], ({ cost }) => cost, { currency }).map(
        (sample) => ({ ...sample, value: sample.value / UNIT }),
      ),
    },
    ...Object.entries(POOL_EVENTS).map(([name, help]) => ({
      name: `auspex_${name}`,
      type: "counter" as const,
      help,
      samples: of("pool").flatMap(({ labels, counts }) =>
        counts[name] === undefined ? [] : [{ labels, value: counts[name] }],
      ),
    })),
    {
      name: "auspex_webhook_deliveries",
      type: "counter",
      help: "Webhook deliveries that have ended, without those of the event output.",
      samples: of("deliveries").flatMap(({ counts }) =>
        Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome }, value })),
      ),
    },
    {
      name: "auspex_http_requests",
      type: "counter",
      help: "Requests by route and status. Each isolate reports within 20 s.",
      samples: of("requests").flatMap(({ labels, counts }) =>
        Object.entries(counts).map(([status, value]) => ({ labels: { ...labels, status }, value })),
      ),
    },
  ];
}

/** Returns the outcomes with the source of their error, which is empty for none. */
const outcomesOf = (counts: Measures): [string, string, number][] =>
  Object.entries(counts).flatMap(([name, count]) => {
    const [status = "", source = ""] = name.split(":");
    return ["succeeded", "failed", "canceled"].includes(status) ? [[status, source, count]] : [];
  });

function histogramFamily(name: TimeName, series: CountedSeries[]): Family {
  const samples = series.flatMap(({ labels, counts }): Sample[] => {
    const { sum, cumulative } = histogramOf(counts, name);
    const count = cumulative.at(-1) ?? 0;
    if (count === 0) return [];
    const limits = [...BUCKETS_MS.map((ms) => ms / 1_000), Number.POSITIVE_INFINITY];
    return [
      ...limits.map((limit, bucket) => ({
        suffix: "_bucket" as const,
        labels: { ...labels, le: limitText(limit) },
        value: cumulative[bucket] ?? 0,
      })),
      { suffix: "_sum", labels, value: sum / 1_000 },
      { suffix: "_count", labels, value: count },
    ];
  });
  const help = TIME_HELP[name];
  return { name: `auspex_prediction_${name}_seconds`, type: "histogram", help, samples };
}

/** Returns one sample for each combination of some of the labels, where there is anything. */
function summed(
  series: CountedSeries[],
  names: string[],
  amountOf: (counts: Measures) => number | undefined,
  more: Labels = {},
): Sample[] {
  const sums = new Map<string, Sample>();
  for (const { labels, counts } of series) {
    const value = amountOf(counts);
    if (value === undefined) continue;
    const kept = Object.fromEntries(names.map((name) => [name, labels[name] ?? ""]));
    const key = JSON.stringify(kept);
    const before = sums.get(key)?.value ?? 0;
    sums.set(key, { labels: { ...kept, ...more }, value: before + value });
  }
  return [...sums.values()];
}
