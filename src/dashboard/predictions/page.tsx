/** The page of one prediction: its view, input, webhooks and actions. */
import { useRequestContext } from "hono/jsx-renderer";
import { START_CHECK } from "../../domain/accounts/usage.ts";
import type { WebhookEvent } from "../../protocol/webhook.ts";
import type { PredictionView } from "../../services/predictions/prediction-view.ts";
import type { ShareRow } from "../../storage/shares/shares.ts";
import { type Dashboard, isPersonal } from "../context.ts";
import { PinExample } from "../models/examples.tsx";
import { InputFields } from "../prediction-view/output.tsx";
import { PredictionPanel } from "../prediction-view/view.tsx";
import { ShareForm } from "../shares/links.tsx";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Above, ALL_PREDICTIONS, Copy, Time } from "../ui/parts.tsx";
import { Delivery } from "../webhooks/delivery.tsx";

export function PredictionPage({
  view,
  webhooks,
  shares,
  host,
}: {
  view: PredictionView;
  webhooks: WebhookEvent[];
  shares: ShareRow[];
  host: string;
}) {
  const { id, model, created_at } = view.prediction;
  const version = `Version ${model.version_number}`;
  return (
    <>
      <Above places={[ALL_PREDICTIONS]} />
      <h1>
        {"Prediction of "}
        {view.model ? (
          <a href={`/models/${view.model}`}>{view.model}</a>
        ) : (
          `${model.owner}/${model.name}`
        )}
      </h1>
      <p class="hint">
        {view.model ? (
          <a href={`/models/${view.model}/versions/${model.version_number}`}>{version}</a>
        ) : (
          version
        )}
        {", created "}
        <Time at={created_at} exact />
        {view.token !== null && <By token={view.token} />}
        <Maker view={view} />
      </p>
      <div class="split prediction">
        <PredictionPanel view={view} host={host} showsSteps />
        <aside>
          <h2>Input</h2>
          <Input view={view} host={host} />
          <h2>ID and URL</h2>
          <Copy text={id} label="Copy ID" />
          <Copy text={view.prediction.url} label="Copy URL" />
          <div data-after-end>
            <Webhooks predictionId={id} events={webhooks} />
            {view.model !== undefined && view.mayPin && isPinnable(view) && (
              <PinExample model={view.model} id={id} />
            )}
            {!view.live && !view.dataRemoved && (
              <>
                <ShareForm id={id} shares={shares} />
                <RemoveData id={id} />
              </>
            )}
          </div>
        </aside>
      </div>
    </>
  );
}

const By = ({ token }: { token: string }) =>
  token === "" ? (
    <> from the dashboard</>
  ) : (
    <>
      {token === START_CHECK.token_name ? " · " : " by "}
      <a href={`/predictions?${new URLSearchParams({ token })}`}>
        <bdi>{token}</bdi>
      </a>
    </>
  );
/** For a run of an organization: who made it, and whose it is. */
function Maker({ view: { prediction, token } }: { view: PredictionView }) {
  const { viewer } = useRequestContext<Dashboard>().var;
  if (!viewer || isPersonal(viewer)) return null;
  const { created_by } = prediction;
  return (
    <>
      {created_by !== null && created_by !== token && ` by ${created_by}`}
      {` for ${viewer.account.username}`}
    </>
  );
}

const isPinnable = ({ prediction, dataRemoved }: PredictionView) =>
  prediction.status === "succeeded" && !dataRemoved;

const RemoveData = ({ id }: { id: string }) => (
  <>
    <h2>Remove data</h2>
    <p class="hint">
      The input, output, logs and files are deleted immediately. The prediction stays in your list.
    </p>
    <Form
      action={`/predictions/${id}/delete`}
      data-confirm="Remove input, output, logs and files? This cannot be undone."
    >
      <Submit kind="danger">Remove data</Submit>
    </Form>
  </>
);

const Webhooks = ({ predictionId, events }: { predictionId: string; events: WebhookEvent[] }) =>
  events.length === 0 ? null : (
    <>
      <h2>Webhooks</h2>
      <ol class="ruled deliveries">
        {events.map((event) => (
          <li>
            <p>
              <a href={`/predictions/${predictionId}/webhooks/${event.id}`}>{event.event}</a>{" "}
              <Time at={event.created_at} exact />
            </p>
            {event.deliveries.map((delivery) => (
              <Delivery
                delivery={delivery}
                action={`/predictions/${predictionId}/webhooks/${event.id}/redeliver`}
              />
            ))}
          </li>
        ))}
      </ol>
    </>
  );

function Input({ view, host }: { view: PredictionView; host: string }) {
  const { displayInput: input, dataRemoved, prediction } = view;
  const all = `/predictions/${prediction.id}/json`;
  if (dataRemoved) return <p class="hint">The input was removed.</p>;
  if (input === undefined)
    return (
      <p class="hint">
        {"The input is too large to show here. "}
        <a href={all}>View full JSON</a>
      </p>
    );
  const fields = typeof input === "object" && input !== null ? Object.entries(input) : [];
  if (fields.length === 0) return <p class="hint">Empty: all fields used their defaults.</p>;
  return (
    <>
      {view.isMasked && (
        <p class="hint">
          {"Hidden, because the version was deleted and any of these could be a secret. "}
          <a href={all}>View full JSON</a>
        </p>
      )}
      <InputFields input={input} host={host} all={all} />
    </>
  );
}
