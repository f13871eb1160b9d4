/** The last runs of the model, below the playground: each leads back to its input and output. */
import { useRequestContext } from "hono/jsx-renderer";
import { isTerminal } from "../../domain/predictions/status.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { RecentRun } from "../../services/predictions/recent-runs.ts";
import { type Dashboard, isPersonal } from "../context.ts";
import { Time } from "../ui/parts.tsx";
import { runAddress } from "./control-names.ts";
import { type KnownField, labelOf, pictureOf } from "./run-inputs.ts";

interface Props {
  runs: RecentRun[];
  /** `owner/name` */
  model: string;
  address: string;
  /** The prediction that is shown, and its status there: the list may not have heard of it yet. */
  current: { id: string; status?: Prediction["status"] } | undefined;
  host: string;
  /** Whether the form is looked at, of a version that has another view. */
  asForm: boolean;
  version: number;
  fields: KnownField[];
}

/** client/parts/recent-runs.ts keeps it up to date. */
export const RecentRuns = ({
  runs,
  model,
  address,
  current,
  host,
  asForm,
  version,
  fields,
}: Props) => (
  <nav
    class="run-row"
    aria-labelledby="recent-runs"
    data-recent={`${address}/runs?version=${version}${asForm ? "&view=form" : ""}`}
    data-live={runs.some(({ prediction }) => !isTerminal(prediction.status)) ? "true" : undefined}
    hidden={runs.length === 0}
  >
    <h2 id="recent-runs" class="quiet small">
      <RecentTitle />
    </h2>
    <ol>
      {runs.map(({ prediction: { id, status, created_at }, content, isStartCheck }) => (
        <li>
          <a
            href={runAddress(address, id, asForm)}
            aria-current={id === current?.id ? "page" : undefined}
          >
            <Picture address={content && pictureOf(content.output, host)} />
            <span class="clamp run-label" dir="auto">
              {(isStartCheck && "Start check") ||
                (content && labelOf(content.input, fields)) ||
                `Run …${id.slice(-4)}`}
            </span>
            <RunStatus status={(id === current?.id && current.status) || status} at={created_at} />
          </a>
        </li>
      ))}
    </ol>
    <p class="small">
      <a href={`/predictions?model=${encodeURIComponent(model)}`}>View all</a>
    </p>
  </nav>
);

function RecentTitle() {
  const { viewer } = useRequestContext<Dashboard>().var;
  return (
    <>
      {!viewer || isPersonal(viewer)
        ? "Your recent runs"
        : `Recent runs of ${viewer.account.username}`}
    </>
  );
}

const RunStatus = ({ status, at }: { status: Prediction["status"]; at: string }) => (
  <span class={`status ${status}`}>
    <span class="visually-hidden">{status}</span>
    <Time at={at} />
  </span>
);

export const Picture = ({ address }: { address: string | undefined }) =>
  address === undefined ? null : <img src={address} alt="" width="40" height="40" loading="lazy" />;
