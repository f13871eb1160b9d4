/** The releases of a deployment, with figures of what ran on each. */
import {
  type Deployment,
  FIGURE_DAYS,
  type ListedRelease,
  type Release,
  type ReleaseFigures,
} from "../../protocol/deployment.ts";
import { amountOf } from "../../protocol/money.ts";
import { number } from "../account/counts.tsx";
import { duration } from "../ui/duration.ts";
import { Price, Time } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";

/** The version that a release runs. */
export const Version = ({ release: { model, version } }: { release: Release }) =>
  model === null ? (
    <>a deleted model</>
  ) : (
    <a href={`/models/${model}/versions/${version}`}>
      <bdi>{`${model}:${version}`}</bdi>
    </a>
  );

interface ReleasesProps {
  releases: ListedRelease[];
  deployment: Deployment;
  /** Whether figures count what all members of the account ran. */
  areAllCounted: boolean;
}

export const Releases = ({ releases, deployment, areAllCounted }: ReleasesProps) => {
  const isPriced = releases.some(({ figures }) => figures && figures.cost !== "0");
  return (
    <>
      <p class="hint">
        {`Predictions that ended in the last ${FIGURE_DAYS} days, without probes and starts of containers. `}
        {!areAllCounted && "Only your own are counted. "}
        Of each time, half took at most the first value, and 95 % at most the second.
      </p>
      <div class="scroll">
        <Table
          class="stacked"
          aria-labelledby="releases-title"
          columns={[
            ...["Release", "Version", "Keeps", "Made"],
            ...["Predictions", "Failed", "Wait", "Setup", "Run"].map(numeric),
            ...(isPriced ? [numeric("Cost")] : []),
          ]}
        >
          {releases.map((release) => (
            <tr>
              <th scope="row">
                {release.number} <State release={release} deployment={deployment} />
              </th>
              <td data-label="Version">
                <Version release={release} />
              </td>
              <td data-label="Keeps">
                {`${release.configuration.min_instances} to ${release.configuration.max_instances}`}
              </td>
              <td data-label="Made">
                <Time at={release.created_at} /> by <bdi>{release.created_by.username}</bdi>
              </td>
              <Figures figures={release.figures} isPriced={isPriced} />
            </tr>
          ))}
        </Table>
      </div>
    </>
  );
};

const numeric = (name: string): Column => ({ name, is: "number" });

const Figures = ({ figures, isPriced }: { figures: ReleaseFigures | null; isPriced: boolean }) => (
  <>
    <Figure name="Predictions">{figures ? number(figures.predictions) : "–"}</Figure>
    <Figure name="Failed">{figures ? failedOf(figures) : "–"}</Figure>
    <Figure name="Wait">{timesOf(figures?.queue_seconds)}</Figure>
    <Figure name="Setup">{timesOf(figures?.setup_seconds)}</Figure>
    <Figure name="Run">{timesOf(figures?.execution_seconds)}</Figure>
    {isPriced && (
      <Figure name="Cost">
        {figures && figures.cost !== "0" ? <Price value={amountOf(figures.cost) ?? 0} /> : "–"}
      </Figure>
    )}
  </>
);

const Figure = ({ name, children }: { name: string; children?: unknown }) => (
  <td class="number" data-label={name}>
    {children}
  </td>
);

const failedOf = ({ failed, predictions }: ReleaseFigures) =>
  failed === 0 ? "0" : `${number(failed)} (${percent(failed / predictions)})`;

/** A share above 0 is not shown as 0 %. */
const percent = (share: number) => (share < 0.01 ? "< 1 %" : `${Math.floor(share * 100)} %`);

const timesOf = (times: ReleaseFigures["queue_seconds"] | undefined) =>
  times ? `${duration(times.p50)} / ${duration(times.p95)}` : "–";

interface StateProps {
  release: ListedRelease;
  deployment: Deployment;
}

function State({ release, deployment: { current_release, next_release } }: StateProps) {
  if (release.number === current_release?.number) return <span class="status succeeded">runs</span>;
  if (release.number === next_release?.number)
    return <span class="status pending">is starting</span>;
  return release.failure === null ? (
    <small>replaced</small>
  ) : (
    <>
      <span class="status failed">failed</span>
      <p class="hint">{release.failure}</p>
    </>
  );
}
