/** What a new account has to do until its first answer: each step ticks by itself once it is done. */
import type { Child } from "hono/jsx";
import type { ModelItem } from "../../protocol/model.ts";
import type { ListedPrediction } from "../../services/predictions/prediction-view.ts";
import { type PublishState, PublishWays } from "../publish/ways.tsx";
import { Icon } from "../ui/icon.tsx";
import { Copy, Status } from "../ui/parts.tsx";

export interface Progress {
  /** Whether there is a runner; undefined for whoever cannot add one. */
  hasRunner: boolean | undefined;
  /** The newest of their own. */
  model: ModelItem | undefined;
  hasToken: boolean;
  /** The newest. */
  prediction: ListedPrediction | undefined;
}

interface Step {
  title: string;
  isDone: boolean;
  /** What there is of it. */
  result?: Child;
  /** How it is done. */
  how: Child;
}

interface Props {
  progress: Progress;
  origin: string;
  username: string;
  /** The ways to publish, for whoever has no model yet. */
  publish: PublishState | undefined;
}

export const isDone = ({ hasRunner, model, hasToken, prediction }: Progress): boolean =>
  hasRunner !== false && model !== undefined && hasToken && prediction !== undefined;

/** The page asks for itself again until all is done (client/home.ts). */
export function FirstSteps(props: Props) {
  const steps = stepsOf(props);
  return (
    <ol class="checklist" data-steps>
      {steps.map(({ title, isDone, result, how }, n) => (
        <li class={isDone ? "done" : undefined} data-part={title}>
          {isDone ? <Icon name="done" /> : <span class="step-number">{n + 1}</span>}
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

function stepsOf({ progress, origin, username, publish }: Props): Step[] {
  const { hasRunner, model, hasToken, prediction } = progress;
  const name = model ? `${username}/${model.name}` : undefined;
  const runner: Step[] =
    hasRunner === undefined
      ? []
      : [
          {
            title: "Add a machine",
            isDone: hasRunner,
            result: (
              <p>
                See what it does under <a href="/fleet">Fleet</a>.
              </p>
            ),
            how: (
              <p>
                <a href="/fleet/tokens">Create a token for it</a>. One command then installs the
                runner, which makes outgoing connections only.
              </p>
            ),
          },
        ];
  return [
    ...runner,
    {
      title: "Publish a model",
      isDone: model !== undefined,
      result: (
        <p>
          <a href={`/models/${name}`}>{name}</a> is there.
        </p>
      ),
      how: publish && <PublishWays state={publish} level={3} />,
    },
    {
      title: "Run it",
      isDone: prediction !== undefined,
      result: prediction && (
        <p>
          <a href={`/predictions/${prediction.prediction.id}`}>Your newest prediction</a>{" "}
          <Status status={prediction.prediction.status} />
        </p>
      ),
      how: (
        <p>
          {name === undefined ? (
            <>
              Choose <a href="/models">a model</a>, fill in its input, and run it there.
            </>
          ) : (
            <>
              Fill in its input in <a href={`/models/${name}`}>its playground</a>, and run it there.
            </>
          )}
        </p>
      ),
    },
    {
      title: "Call it from anywhere",
      isDone: hasToken,
      result: (
        <p>
          You have a <a href="/tokens">token</a>.{" "}
          {name !== undefined && (
            <>
              The <a href={`/models/${name}/api`}>API page of your model</a> has code to paste.
            </>
          )}
        </p>
      ),
      how: (
        <>
          <p>
            Programs need an <a href="/tokens">access token</a>. The official OpenAI clients work,
            too, with <code>{`${origin}/v1/vendora`}</code> as their base URL.
          </p>
          <Copy lines text={`curl ${origin}/v1/models -H "Authorization: Bearer $AUSPEX_TOKEN"`} />
        </>
      ),
    },
  ];
}
