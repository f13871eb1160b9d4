/** A run at Replicate, or at an API like it: a prediction is created there, and looked up until it ends. */
import { z } from "zod";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import { sleep } from "../../lib/timeout.ts";
import type { RemoteHost } from "../../outbound/remote-host.ts";
import { type Json, json } from "../../protocol/common.ts";
import { parseBoundedJson } from "../../run/bounded-json.ts";
import { external, Failure } from "../../run/failure.ts";
import { readBounded } from "../../run/openai/answer.ts";
import { brokenServer, parseFailure } from "../../run/openai/error.ts";
import type { RunReporter } from "../../run/run-reporter.ts";

/** Pauses between look-ups: half a second, growing to five. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;
const GROWTH = 1.3;

/** Look-ups that may fail one after the other. The prediction goes on meanwhile. */
const MAX_FAILED = 5;

const LOOK_MS = 30_000;
const CANCEL_MS = 5_000;

const prediction = z.object({
  id: z.string().regex(/^[\w-]{1,100}$/),
  status: z.string(),
  output: json.optional(),
  error: z.unknown(),
  logs: z.string().nullish().catch(null),
  metrics: z.record(z.string().max(100), z.unknown()).nullish().catch(null),
});
type Prediction = z.infer<typeof prediction>;

const ENDS = ["succeeded", "failed", "canceled", "aborted"];

interface Run {
  host: RemoteHost;
  model: string;
  input: Record<string, Json>;
  output_bytes: number;
  reporter: RunReporter;
  signal: AbortSignal;
}

/** @returns how the outputs make up the whole @throws Failure */
export async function runAtReplicate(run: Run): Promise<"items" | "value" | "none"> {
  const { host, model, input, signal } = run;
  const body = exactText({ version: model, input });
  const report = new Report(run.reporter);
  let current = await read(run, await host.send("POST", "/predictions", signal, body));
  try {
    for (let pauseMs = FIRST_PAUSE_MS, failed = 0; !ENDS.includes(current.status); ) {
      report.progress(current);
      if (!(await sleep(pauseMs, signal))) signal.throwIfAborted();
      pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * GROWTH);
      try {
        const look = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
        current = await read(run, await host.send("GET", `/predictions/${current.id}`, look));
        failed = 0;
      } catch (error) {
        failed += 1;
        if (failed > MAX_FAILED || signal.aborted) throw error;
      }
    }
  } catch (error) {
    await cancel(host, current.id);
    throw error;
  }
  const kind = report.end(current);
  if (current.status === "succeeded") return kind;
  const { error } = current;
  const message = typeof error === "string" && error !== "" ? error : undefined;
  throw message === undefined
    ? external(`the prediction at the remote host ended as '${current.status.slice(0, 50)}'`)
    : new Failure("external", message.slice(0, 2_000), { isQuoted: true });
}

async function read(
  { output_bytes }: Run,
  { status, body }: Awaited<ReturnType<RemoteHost["send"]>>,
): Promise<Prediction> {
  const text = await readBounded(body, output_bytes);
  if (text === undefined) throw external(`the answer of the remote host is too large`);
  const value = parsed(text);
  if (status === 401 || status === 403)
    throw brokenServer(`the remote host refused the call with ${status}: check its key`);
  if (status >= 400) throw parseFailure(value, status, text);
  const { data } = prediction.safeParse(value);
  if (!data) throw brokenServer("the remote host answered with something that is no prediction");
  return data;
}

function parsed(text: string): Json | undefined {
  try {
    return parseBoundedJson(text, parseExact);
  } catch (error) {
    if (error instanceof Failure) throw error;
    return undefined;
  }
}

async function cancel(host: RemoteHost, id: string): Promise<void> {
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(), CANCEL_MS);
  await host
    .send("POST", `/predictions/${id}/cancel`, end.signal)
    .then(({ close }) => close())
    .catch(() => {});
  clearTimeout(timer);
}

/** Metrics of language models, by the names that they have there. */
const TOKENS: Record<string, string> = {
  input_token_count: "input_tokens",
  output_token_count: "output_tokens",
};

/** Reports what is new in each look at the prediction. */
class Report {
  readonly #reporter: RunReporter;
  #items = 0;
  #logs = 0;

  constructor(reporter: RunReporter) {
    this.#reporter = reporter;
  }

  progress({ output, logs }: Prediction): void {
    const text = logs ?? "";
    if (text.length > this.#logs) this.#reporter.logs(text.slice(this.#logs));
    this.#logs = Math.max(this.#logs, text.length);
    if (!Array.isArray(output)) return;
    for (const item of output.slice(this.#items)) this.#reporter.output(item);
    this.#items = Math.max(this.#items, output.length);
  }

  end(last: Prediction): "items" | "value" | "none" {
    const { output = null, metrics } = last;
    const numbers = Object.entries(metrics ?? {}).flatMap(([name, value]) =>
      typeof value === "number" && Number.isFinite(value) ? [[TOKENS[name] ?? name, value]] : [],
    );
    if (numbers.length > 0) this.#reporter.metrics(Object.fromEntries(numbers));
    this.progress(last);
    if (Array.isArray(output) || this.#items > 0) return "items";
    if (output === null) return "none";
    this.#reporter.output(output);
    return "value";
  }
}
