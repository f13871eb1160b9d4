/** A model's playground: its own view, or the form that every model has; output and code beside it. */
import { useRequestContext } from "hono/jsx-renderer";
import { defaultVersion } from "../../storage/models/models.ts";
import { accountsOf } from "../addresses.ts";
import type { Dashboard, Viewer } from "../context.ts";
import { PredictionPanel } from "../prediction-view/view.tsx";
import { Submit } from "../ui/fields.tsx";
import { modelAddress, referenceOf } from "../ui/model-header.tsx";
import {
  addressIn,
  type PlaygroundState,
  pinnedIdOf,
  pinnedOf,
  samplesOf,
  streamsText,
  type Tab,
} from "./address.ts";
import { Chat } from "./chat/view.tsx";
import { Code } from "./code/view.tsx";
import { RUN_AS_FIELD, SWITCH_BUTTON, VERSION_FIELD } from "./control-names.ts";
import { ExampleChoices, ExampleOutput } from "./examples.tsx";
import { InputForm, SIGN_IN_FORM } from "./input-form.tsx";
import { RecentRuns } from "./recent-runs.tsx";
import { labelOf } from "./run-inputs.ts";
import { ownView, VIEW_NAMES, type View } from "./views.ts";

interface Props {
  play: PlaygroundState;
  /** Undefined for a visitor, who sees the form, and logs in to run it. */
  viewer: Viewer | undefined;
  origin: string;
}

export function Playground({ play, viewer, origin }: Props) {
  if (play.view !== "chat" || !viewer)
    return <FormView play={play} viewer={viewer} origin={origin} />;
  return (
    <>
      <div class="bar spread title-row">
        <Views play={play} />
        <VersionForm play={play} />
      </div>
      <noscript>
        <p class="hint">Chat requires JavaScript. Without it, run the model with this form.</p>
        <InputForm play={play} />
      </noscript>
      <WithoutScripts play={play} host={new URL(origin).host} />
      <Chat play={play} user={viewer.account.id + viewer.caller.maker} origin={origin} />
    </>
  );
}

function FormView({ play, viewer, origin }: Props) {
  const { model, version, view, form, shape, prediction } = play;
  const { host } = new URL(origin);
  return (
    <>
      {viewer && ownView(version) !== undefined && (
        <div class="bar spread title-row">
          <Views play={play} />
        </div>
      )}
      {!viewer && (
        <form id={SIGN_IN_FORM} action="/sign-in">
          <input type="hidden" name="next" value={addressIn(play, {})} />
        </form>
      )}
      <div
        class="split playground"
        data-playground={modelAddress(model)}
        data-model={referenceOf(play.model)}
        data-version={version.number}
        data-pinned={pinnedOf(play)}
        data-pinned-id={pinnedIdOf(play)}
        data-streams={streamsText(play.version) ? "true" : undefined}
        data-view={view}
        data-as-form={isFormOfOther(play) ? "true" : undefined}
        data-compatibilities={JSON.stringify(version.compatibilities)}
        data-fields={JSON.stringify(form.fields.map(({ text, ...field }) => field))}
        data-shape={shape && JSON.stringify(shape)}
      >
        <section class="playground-input" aria-labelledby="playground-input">
          <div class="bar spread title-row">
            <h2 id="playground-input">Input</h2>
            {viewer ? <VersionSelect play={play} /> : <VersionForm play={play} />}
          </div>
          <InputForm play={play} isVisitor={!viewer} />
        </section>
        <div class="playground-result">
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
              <PredictionPanel view={prediction} host={host} />
            ) : (
              <NoOutput play={play} host={host} />
            )}
          </section>
          <section aria-label="Code" data-panel="code" hidden={play.tab !== "code"}>
            <Code samples={samplesOf(play, origin, play.input)} />
          </section>
        </div>
        <div class="playground-rows">
          {viewer && (
            <RecentRuns
              runs={play.runs}
              model={referenceOf(model)}
              address={modelAddress(model)}
              current={prediction?.prediction}
              host={host}
              asForm={isFormOfOther(play)}
              version={version.number}
              fields={form.fields}
            />
          )}
          <ExampleChoices
            examples={play.examples}
            address={modelAddress(model)}
            current={play.example?.id}
            host={host}
            fields={form.fields}
          />
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
    (exampleOutput(play, host) ?? <NoResults view={play.view} />)
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
        <NoResults view={play.view} />
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

const NO_RESULTS: Record<View, string> = {
  form: "Run the model to see output here.",
  chat: "Run the model to see output here.",
  images: "Run the model to see images here.",
  speech: "Enter text and press Run to generate audio.",
  transcription: "Upload or record audio to get a transcript.",
};

const NoResults = ({ view }: { view: View }) => <p class="box empty quiet">{NO_RESULTS[view]}</p>;

/** Submits the form, so that typed values are carried over. */
const VersionSelect = ({ play }: { play: PlaygroundState }) => (
  <div class="bar playground-version">
    <label for={VERSION_FIELD}>Version</label>
    <select id={VERSION_FIELD} name={VERSION_FIELD} form="playground-form">
      <Versions play={play} />
    </select>
    <RunAs form="playground-form" />
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
    <RunAs />
    <Submit kind="quiet">Switch</Submit>
  </form>
);

/** The account that runs the model, for those who can act for another one. @param form that it belongs to */
function RunAs({ form }: { form?: string }) {
  const { viewer } = useRequestContext<Dashboard>().var;
  const accounts = viewer ? accountsOf(viewer) : [];
  if (accounts.length <= 1) return null;
  return (
    <>
      <label for={RUN_AS_FIELD}>Run as</label>
      <select id={RUN_AS_FIELD} name={RUN_AS_FIELD} form={form}>
        {accounts.map(({ id, username }) => (
          <option selected={id === viewer?.account.id}>{username}</option>
        ))}
      </select>
    </>
  );
}

const Versions = ({ play: { model, version, versions } }: { play: PlaygroundState }) => (
  <>
    {versions.map((number) => (
      <option value={number} selected={number === version.number}>
        {number === defaultVersion(model)?.number ? `${number} (default)` : number}
      </option>
    ))}
  </>
);
