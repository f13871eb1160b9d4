/** The metrics of containers as the runner passes them on: names as they are, with labels that say whose. */
import { expect, test } from "vitest";
import { mergedFamilies } from "../../../runner/src/metrics/merge.ts";
import { parseMetrics } from "../../../runner/src/metrics/parse.ts";
import { expositionOf } from "../../../src/lib/openmetrics.ts";
import { readOpenMetrics } from "../support/openmetrics.ts";

const passOn = (...texts: string[]): string =>
  expositionOf(
    mergedFamilies(
      texts.map((text, n) => ({
        origin: { runner: "box", model: "ada/chat", version: "3", container: String(n) },
        text: parseMetrics(text),
      })),
    ),
  );

const OF = 'runner="box",model="ada/chat",version="3",container="0"';

const VLLM = `# HELP python_info Python platform information
# TYPE python_info gauge
python_info{implementation="CPython",major="3",version="3.12.9"} 1.0
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3-8B"} 2.0
# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="Qwen/Qwen3-8B"} 4.96e+06
# HELP vllm:generation_tokens_created Number of generation tokens processed.
# TYPE vllm:generation_tokens_created gauge
vllm:generation_tokens_created{engine="0",model_name="Qwen/Qwen3-8B"} 1.7e+09
# HELP vllm:time_to_first_token_seconds Histogram of time to first token in seconds.
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="Qwen/Qwen3-8B"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="1e+06",model_name="Qwen/Qwen3-8B"} 5.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="Qwen/Qwen3-8B"} 7.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="Qwen/Qwen3-8B"} 7.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="Qwen/Qwen3-8B"} 3.25
`;

test("vLLM's metrics keep their names, labels and values", () => {
  const ofModel = `${OF},engine="0",model_name="Qwen/Qwen3-8B"`;
  const time = "vllm:time_to_first_token_seconds";
  const text = passOn(VLLM);
  expect(text).toBe(
    `# TYPE python_info gauge
# HELP python_info Python platform information
python_info{${OF},implementation="CPython",major="3",exported_version="3.12.9"} 1
# TYPE vllm:num_requests_running gauge
# HELP vllm:num_requests_running Number of requests in model execution batches.
vllm:num_requests_running{${ofModel}} 2
# TYPE vllm:generation_tokens counter
# HELP vllm:generation_tokens Number of generation tokens processed.
vllm:generation_tokens_total{${ofModel}} 4960000
# TYPE ${time} histogram
# HELP ${time} Histogram of time to first token in seconds.
${time}_bucket{${OF},engine="0",le="0.001",model_name="Qwen/Qwen3-8B"} 0
${time}_bucket{${OF},engine="0",le="1e+06",model_name="Qwen/Qwen3-8B"} 5
${time}_bucket{${OF},engine="0",le="+Inf",model_name="Qwen/Qwen3-8B"} 7
${time}_sum{${ofModel}} 3.25
${time}_count{${ofModel}} 7
# EOF
`,
  );
  expect(readOpenMetrics(text)).toHaveLength(8);
});

test("a counter without the suffix of OpenMetrics keeps its name, and has no type", () => {
  const text = "# TYPE tgi_request_count counter\ntgi_request_count 4\n";
  expect(passOn(text)).toBe(
    `# TYPE tgi_request_count unknown\ntgi_request_count{${OF}} 4\n# EOF\n`,
  );
});

test("OpenMetrics is read, too: its counters, timestamps, exemplars and limits without a point", () => {
  const text = `# TYPE a counter
a_total{b="c d"} 3 1700000000.5 # {trace_id="x"} 1
a_created{b="c d"} 1700000000
# TYPE h histogram
h_bucket{le="2"} 1 # {trace_id="x"} 0.5
h_bucket{le="+Inf"} 1
# EOF
`;
  expect(passOn(text)).toBe(
    `# TYPE a counter
a_total{${OF},b="c d"} 3
# TYPE h histogram
h_bucket{${OF},le="2.0"} 1
h_bucket{${OF},le="+Inf"} 1
# EOF
`,
  );
});

test("two containers share a family, and have no type where they disagree about it", () => {
  const [gauge, counter] = ["# TYPE a gauge\na 1\n", "# TYPE a_total counter\na_total 2\n"];
  const series = readOpenMetrics(passOn(gauge, gauge, "# TYPE b gauge\nb 3\n"));
  expect(series.map(({ name, type, value }) => [name, type, value])).toEqual([
    ["a", "gauge", "1"],
    ["a", "gauge", "1"],
    ["b", "gauge", "3"],
  ]);
  const disputed = readOpenMetrics(passOn(gauge, counter));
  expect(disputed.map(({ name, type, value }) => [name, type, value])).toEqual([
    ["a", "unknown", "1"],
    ["a_total", "unknown", "2"],
  ]);
});

test("labels of the runner are not the container's to write, and names of Auspex and Prometheus neither", () => {
  const text = `a{runner="mine",exported_runner="x",model="y"} 1
a{__name__="auspex_up"} 1
a{b="1",b="2"} 1
auspex_gpu_power_watts 1
up 0
scrape_samples_scraped 0
a{b="\\"} 1\\nauspex_up 1"} 2
`;
  const series = readOpenMetrics(passOn(text));
  expect(series.map(({ labels }) => Object.fromEntries(labels))).toMatchObject([
    { runner: "box", exported_runner: "mine", exported_exported_runner: "x", exported_model: "y" },
    { runner: "box", b: '"} 1\nauspex_up 1' },
  ]);
});

test("a histogram that contradicts itself is dropped, and others of its family stay", () => {
  const text = `# TYPE h histogram
h_bucket{a="1",le="1"} 5
h_bucket{a="1",le="+Inf"} 4
h_bucket{a="2",le="1"} 5
h_bucket{a="3",le="1"} 5
h_bucket{a="3",le="+Inf"} 5
h_count{a="3"} 6
`;
  const series = readOpenMetrics(passOn(text));
  expect(series.map(({ labels, value }) => [labels.get("a"), value])).toEqual([
    ["3", "5"],
    ["3", "5"],
    ["3", "5"],
  ]);
});
