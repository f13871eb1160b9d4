/**
 * The spans of a prediction that has ended, from times that are known by then: the request, the time in the
 * queue, the setup, and the run, with the names of OpenTelemetry's GenAI conventions. They have nothing of the
 * input or the output, unless `Content` is given, nor of the text of an error, which may quote them.
 */
import type { OpenAiCall } from "../../protocol/runner.ts";
import { type Attribute, SPAN_KINDS, type Span, STATUS_ERROR } from "../../protocol/traces.ts";
import type { DeliveryState } from "../../protocol/webhook.ts";
import { quantitiesOf } from "../money/quantities.ts";
import type { PredictionSpec, PredictionState } from "./state.ts";
import { type RunFacts, type Step, timeline } from "./timeline.ts";
import { newSpanId, spanIdOf, type Trace } from "./trace.ts";

/** The operations that the conventions know. Others are called `predict`. */
const OPERATIONS: Partial<Record<OpenAiCall, string>> = {
  chat_completions: "chat",
  responses: "chat",
  messages: "chat",
  completions: "text_completion",
  embeddings: "embeddings",
};

const PHASES = { pulling: "pull", starting: "start" } as const;

type Values = Record<string, string | number | null>;

/** The beginning of the input and the output as JSON, if the version's owner wants them in traces. */
export type Content = Partial<Record<"auspex.input" | "auspex.output", string>>;

/** A span between two times, unix ms. */
interface Part {
  id: string;
  name: string;
  parent?: string;
  kind?: keyof typeof SPAN_KINDS;
  from: number;
  to: number;
  values?: Values;
  /** The class of error with which it ended. */
  error?: string | undefined;
}

export function spansOf(
  trace: Trace,
  spec: PredictionSpec,
  state: PredictionState,
  { moments, times }: Pick<RunFacts, "moments" | "times">,
  content: Content = {},
): Span[] {
  const steps = timeline(moments, times);
  const timeOf = (kind: Step["kind"]) => steps.find((step) => step.kind === kind)?.at ?? null;
  const { created_at: created } = spec;
  const ended = Math.max(created, moments.ended ?? state.updated_at);
  const begun = timeOf("setup");
  const ready = timeOf("started");
  const error = state.error?.source;
  const number = begun === null ? 0 : (state.attempt?.number ?? 0);

  const parts: Part[] = [];
  let waiting = created;
  for (const { number, reason, from, to } of moments.failed) {
    const taken = from ?? to;
    parts.push(
      { id: spanIdOf(trace, number, "queue"), name: "queue", from: waiting, to: taken },
      { id: spanIdOf(trace, number, "run"), name: "attempt", from: taken, to, error: reason },
    );
    waiting = to;
  }
  parts.push({
    id: spanIdOf(trace, number, "queue"),
    name: "queue",
    from: waiting,
    to: begun ?? ended,
    error: begun === null ? error : undefined,
  });
  if (begun !== null) {
    const setup = spanIdOf(trace, number, "setup");
    const to = ready ?? ended;
    parts.push({
      ...{ id: setup, name: "setup", from: begun, to },
      error: ready === null ? error : undefined,
    });
    const phases = steps.find(({ kind }) => kind === "setup")?.phases ?? [];
    for (const { phase, at, seconds } of phases) {
      const name = PHASES[phase];
      const id = spanIdOf(trace, number, name);
      if (seconds !== null)
        parts.push({ id, name, parent: setup, from: at, to: at + seconds * 1_000 });
    }
  }
  if (ready !== null) {
    const run = steps.find(({ kind }) => kind === "started");
    const output = steps.find(({ kind, at }) => kind === "output" && at !== null && at < ended);
    const operation = (spec.call && OPERATIONS[spec.call]) ?? "predict";
    parts.push({
      id: spanIdOf(trace, number, "run"),
      name: `${operation} ${modelOf(spec)}`,
      kind: "client",
      from: ready,
      to: run?.seconds == null ? ended : Math.min(ended, ready + run.seconds * 1_000),
      values: { ...runValues(spec, state, operation, output?.seconds ?? null), ...content },
      error,
    });
  }

  const root: Part = {
    id: trace.span_id,
    name: trace.route,
    kind: "server",
    from: created,
    to: ended,
    values: requestValues(trace, spec, state),
    error,
    ...(trace.parent_id !== null && { parent: trace.parent_id }),
  };
  return [root, ...parts.map((part) => ({ parent: trace.span_id, ...part }))].map((part) =>
    spanOf(trace, spec, part),
  );
}

/** Returns the span of a webhook's delivery that has ended, from its event on. URLs may be secret. */
export function deliverySpan(
  trace: Trace,
  spec: PredictionSpec,
  { event, at }: { event: string; at: number },
  { state, attempts }: { state: DeliveryState; attempts: { status: number | null }[] },
  now: number,
): Span {
  return spanOf(trace, spec, {
    id: newSpanId(),
    name: `webhook ${event}`,
    parent: trace.span_id,
    kind: "client",
    from: at,
    to: now,
    values: {
      "http.request.method": "POST",
      "http.response.status_code": attempts.at(-1)?.status ?? null,
      "auspex.webhook.attempts": attempts.length,
    },
    error: state === "failed" ? "external" : undefined,
  });
}

const modelOf = ({ model }: PredictionSpec) => `${model.owner}/${model.name}`;

function requestValues({ route }: Trace, spec: PredictionSpec, state: PredictionState): Values {
  const [method = "", path = ""] = route.split(" ");
  return {
    "http.request.method": method,
    "http.route": path,
    "auspex.hardware": spec.hardware.identifier,
    "auspex.priority": spec.priority,
    "auspex.status": state.status,
  };
}

function runValues(
  spec: PredictionSpec,
  state: PredictionState,
  operation: string,
  firstOutput: number | null,
): Values {
  const { uncached, cached, output } = quantitiesOf(state.metrics);
  return {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": "auspex",
    "gen_ai.request.model": modelOf(spec),
    "gen_ai.usage.input_tokens": uncached + cached || null,
    "gen_ai.usage.cache_read.input_tokens": cached || null,
    "gen_ai.usage.output_tokens": output || null,
    "gen_ai.response.time_to_first_chunk": firstOutput,
    "auspex.version": spec.model.version_number,
    "auspex.hardware": spec.hardware.identifier,
    "auspex.runner.id": state.attempt?.runner_id ?? null,
  };
}

function spanOf({ trace_id }: Trace, { id, created_at }: PredictionSpec, part: Part): Span {
  // A runner's measures may be longer than the time between its reports.
  const from = Math.max(created_at, part.from);
  const values = { "auspex.prediction.id": id, ...part.values, "error.type": part.error ?? null };
  return {
    traceId: trace_id,
    spanId: part.id,
    ...(part.parent !== undefined && { parentSpanId: part.parent }),
    name: part.name,
    kind: SPAN_KINDS[part.kind ?? "internal"],
    startTimeUnixNano: nanoseconds(from),
    endTimeUnixNano: nanoseconds(Math.max(from, part.to)),
    attributes: attributesOf(values),
    status: part.error === undefined ? {} : { code: STATUS_ERROR },
  };
}

/** A number of nanoseconds since 1970 is no safe integer; one of microseconds is. */
const nanoseconds = (ms: number) => `${Math.round(ms * 1_000)}000`;

/** The attributes that are numbers with a fraction, also where it is 0. */
const FRACTIONS = ["gen_ai.response.time_to_first_chunk"];

function attributesOf(values: Values): Attribute[] {
  return Object.entries(values).flatMap(([key, value]): Attribute[] => {
    if (value === null) return [];
    if (typeof value === "string") return [{ key, value: { stringValue: value } }];
    if (FRACTIONS.includes(key)) return [{ key, value: { doubleValue: value } }];
    return [{ key, value: { intValue: String(value) } }];
  });
}
