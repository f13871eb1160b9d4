/**
 * A run: how it stands, its steps, what it has put out and what was printed. All of it is there
 * without client code; client/parts/run-view.ts goes on from there. What has a `data-part` it takes
 * anew from the server, at each step; what has not it continues itself, event by event.
 */
import type { PredictionError } from "../../protocol/prediction.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import { Form } from "../ui/layout.tsx";
import { Status } from "../ui/parts.tsx";
import { duration } from "./duration.ts";
import { JsonTree } from "./json.tsx";
import { Logs } from "./logs.tsx";
import { Value } from "./output.tsx";
import { shownPieces } from "./output-kind.ts";
import { setupText } from "./setup-text.ts";
import { Timeline } from "./timeline.tsx";

/** @param host of the page */
export function PredictionPanel({ run, host }: { run: PredictionView; host: string }) {
  const { prediction, output, display, live, last, omitted } = run;
  const all = `/predictions/${prediction.id}/json`;
  const pieces = shownPieces(output, { display, host, whole: !live && omitted === 0 });
  return (
    <div
      class="run"
      data-run={prediction.id}
      data-last={last}
      data-live={live ? "true" : undefined}
      data-now={Date.now()}
      data-display={display}
      data-chars={run.chars}
      data-full={omitted > 0 ? "true" : undefined}
    >
      <div class="run-head" data-part="head">
        <Head run={run} />
      </div>
      <p class="unseen" role="status" data-announce />
      <p class="problem" data-problem hidden />
      <div data-part="steps">
        <Timeline steps={run.steps} status={prediction.status} />
      </div>
      <Setup setup={run.setup} />
      <div data-part="trouble">
        {prediction.error && <Trouble error={prediction.error} host={host} all={all} />}
      </div>
      <section class="run-output">
        <h2>Output</h2>
        <div data-output>
          {pieces.map((found) => (
            <Value found={found} host={host} all={all} />
          ))}
          {run.beginning !== undefined && <div class="out text">{run.beginning}</div>}
        </div>
        <div data-part="note">
          <OutputNote run={run} isEmpty={pieces.length + omitted === 0} />
        </div>
        <p class="hint" data-more hidden={omitted === 0}>
          {"The output is too large to show in full. "}
          <a href={all}>View full JSON</a>
        </p>
      </section>
      <Logs run={run} />
      <div data-part="metrics">
        <Metrics metrics={prediction.metrics} />
      </div>
    </div>
  );
}

function Head({ run: { prediction, live, canceling, dataRemoved } }: { run: PredictionView }) {
  const address = `/predictions/${prediction.id}`;
  return (
    <>
      <Status status={prediction.status} />
      {canceling && <span class="hint">canceling</span>}
      <span class="run-actions">
        {live && !canceling && (
          <Form action={`${address}/cancel`}>
            <button type="submit" class="quiet" data-cancel>
              Cancel
            </button>
          </Form>
        )}
        {!live && !dataRemoved && (
          <Form action={`${address}/retry`}>
            <button type="submit" class="quiet">
              Run again
            </button>
          </Form>
        )}
      </span>
      {live && <noscript>Reload the page to see progress.</noscript>}
    </>
  );
}

const Setup = ({ setup }: { setup: PredictionView["setup"] }) => (
  <div class="run-setup" data-setup hidden={setup === null}>
    <p data-setup-text>{setup && setupText(setup)}</p>
    <progress max="1" value={setup?.progress} aria-label="Setup" />
  </div>
);

const SOURCES: Record<PredictionError["source"], string> = {
  external: "The model failed",
  internal: "The service failed",
};

const Trouble = ({
  error: { source, message, detail },
  ...place
}: {
  error: PredictionError;
  host: string;
  all: string;
}) => (
  <div class="problem">
    <strong>{SOURCES[source]}:</strong>
    {message.includes("\n") ? <pre tabindex={0}>{message}</pre> : ` ${message}`}
    {detail !== null && <JsonTree value={detail} {...place} />}
  </div>
);

function OutputNote({ run, isEmpty }: { run: PredictionView; isEmpty: boolean }) {
  const { prediction, live, dataRemoved } = run;
  if (dataRemoved) return <p class="hint">The input, output and logs were removed.</p>;
  if (!isEmpty) return null;
  if (live) return <p class="hint">No output yet.</p>;
  return (
    <p class="hint">
      {prediction.status === "succeeded" ? "The model returned no output." : "No output."}
    </p>
  );
}

/** Of what was measured, four digits say enough; what Cog measures itself is in seconds. */
const metricText = (name: string, value: number) =>
  name === "predict_time" && value >= 0
    ? duration(value)
    : String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));

const Metrics = ({ metrics }: { metrics: PredictionView["prediction"]["metrics"] }) =>
  metrics && Object.keys(metrics).length > 0 ? (
    <dl class="metrics" aria-label="Metrics">
      {Object.entries(metrics).map(([name, value]) => (
        <div>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>{metricText(name, value)}</dd>
        </div>
      ))}
    </dl>
  ) : null;
