/**
 * A prediction: status, steps, output and logs, complete without client code.
 * client/parts/prediction-view.ts keeps it live: it fetches elements with `data-part` again from the
 * server at each step, and updates the others itself, event by event.
 */
import { withoutLog } from "../../domain/predictions/log-text.ts";
import { setupText } from "../../domain/predictions/timeline.ts";
import type { Explanation, ReasonCode } from "../../protocol/explanation.ts";
import { amountOf } from "../../protocol/money.ts";
import type { Prediction, PredictionError } from "../../protocol/prediction.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import { duration } from "../ui/duration.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Fact, Price, Status } from "../ui/parts.tsx";
import { JsonTree } from "./json-tree.tsx";
import { Logs } from "./logs.tsx";
import { MarkdownButton, OutputValue } from "./output.tsx";
import { isUrlKind, type Output, outputsOf } from "./output-kind.ts";
import { Timeline } from "./timeline.tsx";

/** @param host host of the page @param showsSteps whether the timeline is open at first */
export function PredictionPanel({
  view,
  host,
  showsSteps = false,
}: {
  view: PredictionView;
  host: string;
  showsSteps?: boolean;
}) {
  const { prediction, output, display, live, last, omitted } = view;
  const address = `/predictions/${prediction.id}`;
  const all = `${address}/json`;
  const whole = `${address}/output.json`;
  const logText = view.logs.lines.map(({ text }) => text).join("\n");
  const pieces = outputsOf(output, { display, host, whole: !live && omitted === 0 });
  return (
    <div
      class="prediction-view"
      data-prediction={prediction.id}
      data-last={last}
      data-live={live ? "true" : undefined}
      data-now={Date.now()}
      data-display={display}
      data-chars={view.chars}
      data-full={omitted > 0 ? "true" : undefined}
    >
      <div class="bar prediction-head" data-part="head">
        <Head view={view} />
      </div>
      <p class="visually-hidden" role="status" data-announce />
      <p class="problem" data-problem hidden />
      <div data-part="steps">
        <Timeline steps={view.steps} status={prediction.status} open={showsSteps} />
      </div>
      <Setup setup={view.setup} />
      <Why explanation={view.explanation} />
      <div data-part="trouble">
        {prediction.error && (
          <ErrorMessage error={withoutLog(prediction.error, logText)} host={host} all={all} />
        )}
      </div>
      <section class="prediction-output">
        <div class="bar spread output-head">
          <h2>Output</h2>
          <MarkdownButton />
        </div>
        <div data-output>
          {pieces.map((output) => (
            <OutputValue
              output={output}
              input={view.displayInput}
              host={host}
              all={whole}
              grows={live}
            />
          ))}
          {view.beginning && <div class="output-item text">{view.beginning.text}</div>}
        </div>
        <div data-part="note">
          <OutputNote view={view} isEmpty={pieces.length + omitted === 0} />
        </div>
        <p class="hint" data-more hidden={omitted === 0}>
          Output truncated.{" "}
          {view.beginning?.isJson ? (
            <a href={whole} download={`${prediction.id}.json`}>
              Download the full output as JSON
            </a>
          ) : (
            <a href={`${address}/output.txt`}>Read the full output as text</a>
          )}
          .
        </p>
        <div data-part="files">
          {!live && pieces.length + omitted > 0 && <Downloads view={view} pieces={pieces} />}
        </div>
      </section>
      <Logs view={view} />
      <div data-part="metrics">
        <Metrics metrics={prediction.metrics} />
        <CostParts cost={prediction.cost} />
      </div>
    </div>
  );
}

function Head({ view }: { view: PredictionView }) {
  const { prediction, live, canceling, dataRemoved } = view;
  const address = `/predictions/${prediction.id}`;
  return (
    <>
      <Status status={prediction.status} />
      {canceling && <span class="hint">canceling</span>}
      <a class="own-page" href={address}>
        View prediction
      </a>
      <span class="flow push">
        {live && !canceling && (
          <Form action={`${address}/cancel`}>
            <button type="submit" class="quiet" data-cancel>
              Cancel
            </button>
          </Form>
        )}
        {view.model && !dataRemoved && (
          <a
            class="button quiet in-playground"
            href={`/models/${view.model}?prediction=${prediction.id}`}
          >
            {live ? "Open in playground" : "Run again with changes"}
          </a>
        )}
        {!live && view.model && !dataRemoved && (
          <Form action={`${address}/retry`}>
            <Submit kind="quiet">Run again</Submit>
          </Form>
        )}
      </span>
      {live && <noscript>Reload the page to see progress.</noscript>}
    </>
  );
}

const Setup = ({ setup }: { setup: PredictionView["setup"] }) => (
  <div class="hint" data-setup hidden={setup === null}>
    <p data-setup-text>{setup && setupText(setup)}</p>
    <progress max="1" value={setup?.progress} aria-label="Setup" />
  </div>
);

const SOURCES: Record<PredictionError["source"], string> = {
  external: "Model error",
  internal: "Service error",
};

const ErrorMessage = ({
  error: { source, message, detail },
  ...rest
}: {
  error: PredictionError;
  host: string;
  all: string;
}) => (
  <div class="problem">
    <strong>{SOURCES[source]}:</strong>
    {message.includes("\n") ? (
      <pre tabindex={0} dir="auto">
        {message}
      </pre>
    ) : (
      <>
        {" "}
        <bdi>{message}</bdi>
      </>
    )}
    {detail !== null && <JsonTree value={detail} {...rest} />}
  </div>
);

function OutputNote({ view, isEmpty }: { view: PredictionView; isEmpty: boolean }) {
  const { prediction, live, dataRemoved } = view;
  if (dataRemoved) return <p class="hint">The input, output, and logs were deleted.</p>;
  if (!isEmpty) return null;
  if (live) return <p class="hint">No output yet.</p>;
  return (
    <p class="hint">
      {prediction.status === "succeeded" ? "The model returned no output." : "No output."}
    </p>
  );
}

/** An output that consists of files needs no further download. */
function Downloads({ view, pieces }: { view: PredictionView; pieces: Output[] }) {
  const { prediction, display, omitted } = view;
  if (omitted === 0 && pieces.every(isUrlKind)) return null;
  const address = `/predictions/${prediction.id}/output`;
  const text = display === "list" ? `${address}.txt?lines=true` : `${address}.txt`;
  const files: [name: string, address: string, extension: string][] = [
    ["Text", text, "txt"],
    ["JSON", `${address}.json`, "json"],
  ];
  return (
    <p class="flow quiet small">
      {"Download "}
      {files.map(([name, file, extension]) => (
        <a href={file} download={`${prediction.id}.${extension}`}>
          {name}
        </a>
      ))}
    </p>
  );
}

/** Four significant digits; Cog's own predict_time is in seconds. */
const metricText = (name: string, value: number) =>
  name === "predict_time" && value >= 0
    ? duration(value)
    : String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));

const Metrics = ({ metrics }: Pick<Prediction, "metrics">) => {
  const all = Object.entries(metrics ?? {});
  return all.length === 0 ? null : (
    <dl class="figures spaced" aria-label="Metrics">
      {all.map(([name, value]) => (
        <Fact name={name.replaceAll("_", " ")}>{metricText(name, value)}</Fact>
      ))}
    </dl>
  );
};

/** A cost is shown only if the run had a price. */
const CostParts = ({ cost }: Pick<Prediction, "cost">) =>
  cost && cost.parts.length > 0 ? (
    <dl class="figures spaced" aria-label="Cost">
      <Fact name="cost">
        <Amount text={cost.amount} />
      </Fact>
      {cost.parts.map(({ type, quantity, unit, amount }) => (
        <Fact name={type.replaceAll("_", " ")}>
          {unit === "second" ? duration(quantity) : `${quantity.toLocaleString("en")} ${unit}s`}
          {" · "}
          <Amount text={amount} />
        </Fact>
      ))}
    </dl>
  ) : null;

const Amount = ({ text }: { text: string }) => <Price value={amountOf(text) ?? 0} />;

/** Most predictions start sooner: the text would only flash. */
const SHOWN_AFTER_MS = 2_000;

const SET_UP: readonly ReasonCode[] = ["pulling", "starting"];

/** A part of the view: client code fetches it again while there is anything in it. */
export const Why = ({ explanation }: { explanation: Explanation | undefined }) => (
  <div data-part="why">{explanation?.reason && <Words explanation={explanation} />}</div>
);

function Words({ explanation: { reason, starts_in, since } }: { explanation: Explanation }) {
  if (!reason) return null;
  const isLate = Date.now() - Date.parse(since ?? "") > SHOWN_AFTER_MS;
  const texts = SET_UP.includes(reason.code)
    ? reason.stopped.map((model) => `${model} was stopped to make room.`)
    : [reason.message];
  if (starts_in) texts.push(rangeText(starts_in));
  return (
    <p class={isLate ? "hint" : "hint shown-after-2-s"} data-why>
      {texts.join(" ")}
    </p>
  );
}

function rangeText({ p10_seconds, p90_seconds }: NonNullable<Explanation["starts_in"]>): string {
  if (p90_seconds === 0) return "This is taking longer than expected.";
  return `Expected to start in ${duration(p10_seconds)} to ${duration(p90_seconds)}.`;
}
