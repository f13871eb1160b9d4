/** A model's playground: its own view, or the form that every model has; output and code beside it. */
import { defaultVersion } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import { PredictionPanel } from "../prediction-view/view.tsx";
import { Submit } from "../ui/fields.tsx";
import { modelAddress, referenceOf } from "../ui/model-header.tsx";
import { Empty } from "../ui/parts.tsx";
import { addressIn, type PlaygroundState, pinnedOf, samplesOf, type Tab } from "./address.ts";
import { Chat } from "./chat/view.tsx";
import { Code } from "./code/view.tsx";
import { SWITCH_BUTTON, VERSION_FIELD } from "./control-names.ts";
import { ExampleChoices, ExampleOutput, ToExamples } from "./examples.tsx";
import { InputForm } from "./input-form.tsx";
import { RecentRuns } from "./recent-runs.tsx";
import { labelOf } from "./run-inputs.ts";
import { type MediaView, ownView, VIEW_NAMES, type View } from "./views.ts";

interface Props {
  play: PlaygroundState;
  viewer: Viewer;
  origin: string;
}

export function Playground({ play, viewer, origin }: Props) {
  if (play.view !== "chat") return <FormView play={play} viewer={viewer} origin={origin} />;
  return (
    <>
      <div class="bar spread title-row">
        <Views play={play} />
        <VersionForm play={play} />
      </div>
      <noscript>
        <p class="hint">The chat needs JavaScript. This form runs the model without it.</p>
        <InputForm play={play} />
      </noscript>
      <WithoutScripts play={play} host={new URL(origin).host} />
      <Chat play={play} user={viewer.user.id} origin={origin} />
    </>
  );
}

function FormView({ play, viewer, origin }: Props) {
  const { model, version, view, form, shape, prediction } = play;
  return (
    <>
      {ownView(version) !== undefined && (
        <div class="bar spread title-row">
          <Views play={play} />
        </div>
      )}
      <div
        class="split playground"
        data-playground={modelAddress(model)}
        data-model={referenceOf(play.model)}
        data-version={version.number}
        data-pinned={pinnedOf(play)}
        data-view={view}
        data-as-form={isFormOfOther(play) ? "true" : undefined}
        data-user={viewer.user.id}
        data-compatibilities={JSON.stringify(version.compatibilities)}
        data-fields={JSON.stringify(form.fields.map(({ text, ...field }) => field))}
        data-shape={shape && JSON.stringify(shape)}
      >
        <section class="playground-input" aria-labelledby="playground-input">
          <div class="bar spread title-row">
            <h2 id="playground-input">Input</h2>
            <VersionSelect play={play} />
          </div>
          <ToExamples count={play.examples.length} />
          <InputForm play={play} />
        </section>
        <div class="playground-result">
          <ExampleChoices
            examples={play.examples}
            address={modelAddress(model)}
            current={play.example?.id}
            host={new URL(origin).host}
            fields={form.fields}
          />
          <RecentRuns
            runs={play.runs}
            address={modelAddress(model)}
            current={prediction?.prediction}
            host={new URL(origin).host}
            asForm={isFormOfOther(play)}
            version={play.version.number}
            fields={form.fields}
          />
          <nav class="tabs" aria-label="Result">
            {TABS.map(([tab, name]) => (
              <a
                href={addressIn(play, { tab })}
                aria-current={tab === play.tab ? "page" : undefined}
                data-tab={tab}
              >
                {name}
              </a>
            ))}
          </nav>
          <section aria-label="Output" data-panel="output" hidden={play.tab !== "output"}>
            {prediction && view === "form" ? (
              <PredictionPanel view={prediction} host={new URL(origin).host} />
            ) : (
              <NoOutput play={play} host={new URL(origin).host} />
            )}
          </section>
          <section aria-label="Code" data-panel="code" hidden={play.tab !== "code"}>
            <Code samples={samplesOf(play, origin, play.input)} />
          </section>
        </div>
      </div>
    </>
  );
}

/** Whether the version has another view, which links to runs must not lead to. */
const isFormOfOther = ({ view, version }: PlaygroundState) =>
  view === "form" && ownView(version) !== undefined;

/** A run in a view that client code fills. */
const WithoutScripts = ({ play, host }: { play: PlaygroundState; host: string }) =>
  play.prediction ? (
    <div class="without-scripts" data-without-scripts>
      <PredictionPanel view={play.prediction} host={host} />
    </div>
  ) : null;

const TABS: [Tab, string][] = [
  ["output", "Output"],
  ["code", "Code"],
];

function Views({ play }: { play: PlaygroundState }) {
  const own = ownView(play.version);
  const views: View[] = own === undefined ? ["form"] : [own, "form"];
  return (
    <nav class="segments" aria-label="View" data-views>
      {views.map((view) => (
        <a
          href={addressIn(play, { view, asJson: false })}
          aria-current={view === play.view ? "page" : undefined}
        >
          {VIEW_NAMES[view]}
        </a>
      ))}
    </nav>
  );
}

/** Views that keep the results of the page list them from the newest. */
const NoOutput = ({ play, host }: { play: PlaygroundState; host: string }) =>
  play.view === "form" || play.view === "chat" ? (
    (exampleOutput(play, host) ?? <NoPrediction play={play} />)
  ) : (
    <>
      <p class="visually-hidden" role="status" data-announce-result />
      {exampleOutput(play, host)}
      <WithoutScripts play={play} host={host} />
      <ol
        class="media-runs"
        data-runs
        data-opened={play.prediction?.prediction.id}
        data-label={openedLabel(play)}
      />
      <div data-no-runs hidden={(play.example ?? play.prediction) !== undefined}>
        <NoResults view={play.view} play={play} />
      </div>
    </>
  );

/** The form has defaults if the run's input is removed; the run may have had other values. */
const openedLabel = ({ prediction, input, form }: PlaygroundState) =>
  prediction && prediction.input === undefined
    ? `Run …${prediction.prediction.id.slice(-4)}`
    : labelOf(input, form.fields);

const exampleOutput = ({ model, example, isVersionGone = false }: PlaygroundState, host: string) =>
  example && <ExampleOutput {...{ model, example, isVersionGone, host }} />;

const NO_RESULTS: Record<MediaView, [title: string, text: string]> = {
  images: ["No pictures yet", "Run the model, and its pictures are collected here."],
  speech: ["Nothing said yet", "Enter a text and run the model, and listen to it here."],
  transcription: [
    "Nothing transcribed yet",
    "Choose an audio file or record yourself, run the model, and read here what was said.",
  ],
};

const NoResults = ({ view, play }: { view: MediaView; play: PlaygroundState }) => (
  <Empty title={NO_RESULTS[view][0]}>
    <p>{NO_RESULTS[view][1]}</p>
    <EarlierPredictions play={play} />
  </Empty>
);

const NoPrediction = ({ play }: { play: PlaygroundState }) => (
  <Empty title={play.runs.length > 0 ? "No run is open" : "No prediction yet"}>
    <p>
      {play.runs.length > 0 ? "Open a recent run, or fill in" : "Fill in"} the input and run the
      model. Its output streams here, and the URL of this page then links to the prediction.
    </p>
    <EarlierPredictions play={play} />
  </Empty>
);

const EarlierPredictions = ({ play }: { play: PlaygroundState }) =>
  play.runs.length > 0 && (
    <p>
      <a href={`/predictions?model=${encodeURIComponent(referenceOf(play.model))}`}>
        View your earlier predictions
      </a>
    </p>
  );

/** Submits the form, so that typed values are carried over. */
const VersionSelect = ({ play }: { play: PlaygroundState }) => (
  <div class="bar playground-version">
    <label for={VERSION_FIELD}>Version</label>
    <select id={VERSION_FIELD} name={VERSION_FIELD} form="playground-form">
      <Versions play={play} />
    </select>
    <button
      type="submit"
      form="playground-form"
      name={SWITCH_BUTTON}
      value="other"
      formnovalidate
      class="quiet"
    >
      Switch
    </button>
  </div>
);

/** Another version of a chat is another page, to which the conversation is carried over. */
const VersionForm = ({ play }: { play: PlaygroundState }) => (
  <form class="bar playground-version" action={modelAddress(play.model)}>
    <input type="hidden" name="view" value={play.view} />
    {play.prediction && (
      <input type="hidden" name="prediction" value={play.prediction.prediction.id} />
    )}
    <label for={VERSION_FIELD}>Version</label>
    <select id={VERSION_FIELD} name="version">
      <Versions play={play} />
    </select>
    <Submit kind="quiet">Switch</Submit>
  </form>
);

const Versions = ({ play: { model, version, versions } }: { play: PlaygroundState }) => (
  <>
    {versions.map((number) => (
      <option value={number} selected={number === version.number}>
        {number === defaultVersion(model)?.number ? `${number} (default)` : number}
      </option>
    ))}
  </>
);
