/** Steps of a new account until its first answer. Each ticks by itself once it is done. */
import type { Child } from "hono/jsx";
import type { RunnerPackage } from "../../domain/runners/runner-version.ts";
import type { RunnerState } from "../../protocol/fleet.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { ModelItem } from "../../protocol/model.ts";
import type { ListedPrediction } from "../../services/predictions/prediction-view.ts";
import { startText } from "../fleet/install.tsx";
import { type PublishState, PublishWays } from "../publish/ways.tsx";
import { Submit } from "../ui/fields.tsx";
import { Icon } from "../ui/icon.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy, Status } from "../ui/parts.tsx";

export interface Progress {
  /** Whether there is a runner; undefined for users who cannot add one. */
  hasRunner: boolean | undefined;
  runner?: RunnerState | undefined;
  model: ModelItem | undefined;
  prediction: ListedPrediction | undefined;
  /** Whether an access token has made one of the newest predictions, or there are more than those. */
  hasCalled: boolean;
}

interface Step {
  title: string;
  isDone: boolean;
  result?: Child;
  how?: Child;
}

interface Props {
  progress: Progress;
  origin: string;
  username: string;
  runner: RunnerPackage;
  /** The command that calls a model of the user; undefined without one. */
  call: string | undefined;
  publish: PublishState | undefined;
}

/** The steps need no model of one's own: a user may call the models of others. */
export const isDone = ({ hasRunner, prediction, hasCalled }: Progress): boolean =>
  hasRunner !== false && prediction !== undefined && hasCalled;

/** The first step to do is open, later ones are folded. client/home.ts reloads the page until all are done. */
export function FirstSteps(props: Props) {
  const steps = stepsOf(props);
  const next = steps.findIndex(({ isDone }) => !isDone);
  return (
    <ol class="box checklist" data-steps>
      {steps.map(({ title, isDone, result, how }, n) => (
        <li class={isDone ? "done quiet" : n > next ? "later" : undefined} data-part={title}>
          {isDone ? <Icon name="done" /> : <span class="step-number quiet strong">{n + 1}</span>}
          {isDone || n === next ? (
            <div>
              <h2>
                {title} {isDone && <span class="visually-hidden">(done)</span>}
              </h2>
              {isDone ? result : how}
            </div>
          ) : (
            <details>
              <summary>
                <h2>{title}</h2>
              </summary>
              {how}
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

function stepsOf(props: Props): Step[] {
  const { hasRunner } = props.progress;
  return [
    ...(hasRunner === undefined ? [] : [addMachine(props, hasRunner)]),
    publishModel(props),
    runModel(props),
    callModel(props),
  ];
}

const addMachine = ({ origin, runner, progress }: Props, isDone: boolean): Step => ({
  title: "Add a machine",
  isDone,
  result: progress.runner && (
    <p>
      <a href={`/fleet/runners/${progress.runner.id}`}>
        <bdi>{progress.runner.name}</bdi>
      </a>{" "}
      <span class={`status ${progress.runner.state}`}>{progress.runner.state}</span>
    </p>
  ),
  how: (
    <>
      <p>Run this on a machine with Node.js 22 and Docker. It makes outgoing connections only.</p>
      <Copy lines text={startText({ token: NO_TOKEN, origin, runner }, [DEFAULT_HARDWARE])} />
      <Form action="/fleet/tokens">
        <input type="hidden" name="name" value="First machine" />
        <input type="hidden" name="hardware" value={DEFAULT_HARDWARE} />
        <Submit>Create a token for it</Submit>
      </Form>
      <p class="hint">
        Creating a runner token fills it in. For a GPU, <a href="/fleet/hardware">add hardware</a>{" "}
        first.
      </p>
    </>
  ),
});

const NO_TOKEN = "ausr_…";

const publishModel = ({ progress, username, publish }: Props): Step => ({
  title: progress.hasRunner === undefined ? "Choose a model, or publish one" : "Publish a model",
  isDone: progress.model !== undefined || progress.prediction !== undefined,
  result: progress.model ? (
    <p>
      <a href={`/models/${username}/${progress.model.name}`}>
        {`${username}/${progress.model.name}`}
      </a>
    </p>
  ) : (
    <p>
      You can also <a href="/models/publish">publish your own model</a>.
    </p>
  ),
  how: publish && (
    <>
      {progress.hasRunner === undefined && (
        <p>
          Pick any <a href="/models">model</a>, or publish your own:
        </p>
      )}
      <PublishWays state={publish} level={3} />
    </>
  ),
});

const runModel = ({ progress: { model, prediction }, username }: Props): Step => ({
  title: "Run it",
  isDone: prediction !== undefined,
  result: prediction && (
    <p>
      <a href={`/predictions/${prediction.prediction.id}`}>Your latest prediction</a>{" "}
      <Status status={prediction.prediction.status} waitsAgain={prediction.waitsAgain} />
    </p>
  ),
  how: (
    <p>
      {model ? (
        <>
          Enter an input in <a href={`/models/${username}/${model.name}`}>its playground</a> and
          press Run.
        </>
      ) : (
        <>
          Choose a <a href="/models">model</a>, enter an input and press Run.
        </>
      )}
    </p>
  ),
});

const callModel = ({ progress: { hasCalled }, origin, call }: Props): Step => ({
  title: "Call it from anywhere",
  isDone: hasCalled,
  result: (
    <p>
      The API tab of each model has code samples. <a href="/tokens">Manage access tokens</a>
    </p>
  ),
  how: (
    <>
      <p>
        Create an <a href="/tokens">access token</a>. OpenAI clients work with the base URL{" "}
        <code>{`${origin}/openai/v1`}</code>.
      </p>
      {call === undefined ? (
        <p class="hint">Publish or pick a model to see the command.</p>
      ) : (
        <Copy lines text={call} />
      )}
    </>
  ),
});
