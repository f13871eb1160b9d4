/**
 * A prediction: status, steps, output and logs, complete without client code.
 * client/parts/prediction-view.ts keeps it live: it fetches elements with `data-part` again from the
 * server at each step, and updates the others itself, event by event.
 */

import type { LogQuery } from "../../domain/predictions/log-search.ts";
import { beginningOf, dimensionOf, tableOf } from "../../domain/predictions/output-table.ts";
import { setupText } from "../../domain/predictions/setup-text.ts";
import type { Json } from "../../protocol/common.ts";
import type { PredictionError } from "../../protocol/prediction.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import { Form } from "../ui/layout.tsx";
import { Status } from "../ui/parts.tsx";
import { Price } from "../ui/price.tsx";
import { duration } from "./duration.ts";
import { embeddingsIn } from "./embeddings.ts";
import { Embeddings } from "./embeddings-view.tsx";
import { JsonTree } from "./json-tree.tsx";
import { Logs } from "./logs.tsx";
import { MarkdownButton } from "./markdown-button.tsx";
import { OutputValue } from "./output.tsx";
import { isUrlKind, type Output, outputsOf } from "./output-kind.ts";
import { partAddress, ShowMore } from "./show-more.tsx";
import { Timeline } from "./timeline.tsx";
import { Why } from "./why.tsx";

/** @param host host of the page */
export function PredictionPanel({
  view,
  host,
  logQuery,
}: {
  view: PredictionView;
  host: string;
  logQuery?: LogQuery;
}) {
  const { prediction, output, display, live, last, omitted } = view;
  const address = `/predictions/${prediction.id}`;
  const all = `${address}/json`;
  const whole = `${address}/output`;
  const { beginning } = view;
  const isJson = beginning?.isJson === true;
  const begun = isJson ? beginningOf(beginning.text) : undefined;
  const vectors = begun === undefined ? undefined : embeddingsIn(begun);
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
      <div class="prediction-head" data-part="head">
        <Head view={view} />
      </div>
      <p class="visually-hidden" role="status" data-announce />
      <p class="problem" data-problem hidden />
      <div data-part="steps">
        <Timeline steps={view.steps} status={prediction.status} />
      </div>
      <Setup setup={view.setup} />
      <Why explanation={view.explanation} />
      <div data-part="trouble">
        {prediction.error && <ErrorMessage error={prediction.error} host={host} all={all} />}
      </div>
      <section class="prediction-output">
        <div class="output-head">
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
          {beginning && !isJson && <div class="output-item text">{beginning.text}</div>}
          {vectors && (
            <div class="output-item">
              <Embeddings vectors={vectors} input={view.displayInput} areFirst />
            </div>
          )}
        </div>
        <div data-part="note">
          <OutputNote view={view} isEmpty={pieces.length + omitted === 0} />
        </div>
        <div data-part="next">
          {view.next && !isJson && (
            <ShowMore address={partAddress(prediction.id, view.next, display)} />
          )}
        </div>
        <p class="hint" data-more hidden={omitted === 0}>
          <More view={view} isJson={isJson} />
        </p>
        <div data-part="files">
          {!live && pieces.length + omitted > 0 && (
            <Downloads view={view} pieces={pieces} known={beginning ? begun : output} />
          )}
        </div>
      </section>
      <Logs view={view} query={logQuery} />
      <div data-part="metrics">
        <Metrics metrics={prediction.metrics} price={view.price} />
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
        Open its page
      </a>
      <span class="prediction-actions">
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
  <div class="prediction-setup" data-setup hidden={setup === null}>
    <p data-setup-text>{setup && setupText(setup)}</p>
    <progress max="1" value={setup?.progress} aria-label="Setup" />
  </div>
);

const SOURCES: Record<PredictionError["source"], string> = {
  external: "The model failed",
  internal: "The service failed",
};

const ErrorMessage = ({
  error: { source, message, detail },
  ...place
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
    {detail !== null && <JsonTree value={detail} {...place} />}
  </div>
);

function OutputNote({ view, isEmpty }: { view: PredictionView; isEmpty: boolean }) {
  const { prediction, live, dataRemoved } = view;
  if (dataRemoved) return <p class="hint">The input, output and logs were removed.</p>;
  if (!isEmpty) return null;
  if (live) return <p class="hint">No output yet.</p>;
  return (
    <p class="hint">
      {prediction.status === "succeeded" ? "The model returned no output." : "No output."}
    </p>
  );
}

/** What can be done for the rest: never a link to a page that would refuse it. */
function More({ view, isJson }: { view: PredictionView; isJson: boolean }) {
  const address = `/predictions/${view.prediction.id}/output`;
  if (!isJson)
    return (
      <>
        There is more of the output. <a href={`${address}.txt`}>Read all of it as text</a>.
      </>
    );
  if (!view.opensAsTree) return "The output is too large for a page. Download it as a file.";
  return (
    <>
      The output is too large to show here. <a href={address}>Open it as a tree</a>.
    </>
  );
}

/** What is a file already needs no other. */
function Downloads({
  view,
  pieces,
  known,
}: {
  view: PredictionView;
  pieces: Output[];
  known: Known;
}) {
  const { prediction, display, omitted } = view;
  if (omitted === 0 && pieces.every(isUrlKind)) return null;
  const address = `/predictions/${prediction.id}/output`;
  const text = display === "list" ? `${address}.txt?lines=true` : `${address}.txt`;
  const files: [name: string, address: string, extension: string][] = [
    ["Text", text, "txt"],
    ["JSON", `${address}.json`, "json"],
  ];
  if (isTable(known, view)) files.push(["CSV", `${address}.csv`, "csv"]);
  return (
    <p class="downloads">
      {"Download "}
      {files.map(([name, file, extension]) => (
        <a href={file} download={`${prediction.id}.${extension}`}>
          {name}
        </a>
      ))}
    </p>
  );
}

/** What the page has of an output, as JSON; undefined for a large text. */
type Known = Json | undefined;

/** A large one is a table only of vectors. */
function isTable(known: Known, { omitted, opensAsTree }: PredictionView): boolean {
  if (known === undefined) return false;
  const table = omitted === 0 || opensAsTree ? tableOf(known) : dimensionOf(known);
  return table !== undefined;
}

/** Four significant digits; Cog's own predict_time is in seconds. */
const metricText = (name: string, value: number) =>
  name === "predict_time" && value >= 0
    ? duration(value)
    : String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));

const Metrics = ({
  metrics,
  price,
}: {
  metrics: PredictionView["prediction"]["metrics"];
  price: number | undefined;
}) => {
  const all = Object.entries(metrics ?? {});
  return all.length === 0 && price === undefined ? null : (
    <dl class="metrics" aria-label="Metrics">
      {all.map(([name, value]) => (
        <div>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>{metricText(name, value)}</dd>
        </div>
      ))}
      {price !== undefined && (
        <div>
          <dt>price</dt>
          <dd>
            <Price value={price} />
          </dd>
        </div>
      )}
    </dl>
  );
};
