/** Steps of a new account until its first answer: each step ticks by itself once it is done. */
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

/** The page asks for itself again until all is done (client/home.ts). */
export function FirstSteps(props: Props) {
  const steps = stepsOf(props);
  return (
    <ol class="box checklist" data-steps>
      {steps.map(({ title, isDone, result, how }, n) => (
        <li class={isDone ? "done quiet" : undefined} data-part={title}>
          {isDone ? <Icon name="done" /> : <span class="step-number quiet strong">{n + 1}</span>}
          <div>
            <h2>
              {title} {isDone && <span class="visually-hidden">(done)</span>}
            </h2>
            {isDone ? result : how}
          </div>
        </li>
      ))}
    </ol>
  );
}

function stepsOf(props: Props): Step[] {
  const { hasRunner } = props.progress;
  return [
    ...(hasRunner === undefined ? [] : [SET_UP, addMachine(props, hasRunner)]),
    publishModel(props),
    runModel(props),
    callModel(props),
  ];
}

/** An operator who sees this step has done it. */
const SET_UP: Step = {
  title: "Set up the deployment",
  isDone: true,
  result: (
    <p>
      You are an operator. Others come in once you <a href="/users">invite them</a>.
    </p>
  ),
};

const addMachine = ({ origin, runner, progress }: Props, isDone: boolean): Step => ({
  title: "Add a machine",
  isDone,
  result: progress.runner ? (
    <p>
      <a href={`/fleet/runners/${progress.runner.id}`}>
        <bdi>{progress.runner.name}</bdi>
      </a>{" "}
      <span class={`status ${progress.runner.state}`}>{progress.runner.state}</span>
    </p>
  ) : (
    <p>
      See what it does under <a href="/fleet">Fleet</a>.
    </p>
  ),
  how: (
    <>
      <p>
        Run this on a machine with Node.js 22 and Docker. It installs the runner, which makes
        outgoing connections only, and needs a runner token where it says <code>{NO_TOKEN}</code>.
      </p>
      <Copy lines text={startText({ token: NO_TOKEN, origin, runner }, [DEFAULT_HARDWARE])} />
      <Form action="/fleet/tokens">
        <input type="hidden" name="name" value="First machine" />
        <input type="hidden" name="hardware" value={DEFAULT_HARDWARE} />
        <Submit>Create a token for it</Submit>
      </Form>
      <p class="hint">
        The command then has the token in it. <code>{DEFAULT_HARDWARE}</code> is for models that
        need no GPU. For others, <a href="/fleet/hardware">add a class of hardware</a> and{" "}
        <a href="/fleet/tokens">create a token for that</a>.
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
      </a>{" "}
      is there.
    </p>
  ) : (
    <p>
      You have run one. You can <a href="/models/publish">publish your own</a>, too.
    </p>
  ),
  how: publish && (
    <>
      {progress.hasRunner === undefined && (
        <p>
          Any of <a href="/models">those that are there</a> will do. To publish your own:
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
      <a href={`/predictions/${prediction.prediction.id}`}>Your newest prediction</a>{" "}
      <Status status={prediction.prediction.status} waitsAgain={prediction.waitsAgain} />
    </p>
  ),
  how: (
    <p>
      {model ? (
        <>
          Fill in its input in <a href={`/models/${username}/${model.name}`}>its playground</a>, and
          run it there.
        </>
      ) : (
        <>
          Choose <a href="/models">a model</a>, fill in its input, and run it there.
        </>
      )}
    </p>
  ),
});

const callModel = ({ progress: { hasCalled }, origin, call }: Props): Step => ({
  title: "Call it from anywhere",
  isDone: hasCalled,
  result: (
    <>
      <p>
        Programs do it with an <a href="/tokens">access token</a>. The page of each model has the
        call in several languages, under API.
      </p>
      {call !== undefined && (
        <details>
          <summary>The command</summary>
          <Copy lines text={call} />
        </details>
      )}
    </>
  ),
  how: (
    <>
      <p>
        Programs need an <a href="/tokens">access token</a>. The official OpenAI clients work, too,
        with <code>{`${origin}/openai/v1`}</code> as their base URL.
      </p>
      {call === undefined ? (
        <p class="hint">Once there is a model, the command that calls it stands here.</p>
      ) : (
        <Copy lines text={call} />
      )}
    </>
  ),
});
