/** The pages of deployments: the list, and one with its releases. */
import type {
  ChangedDeployment,
  Deployment,
  ListedRelease,
  Release,
} from "../../protocol/deployment.ts";
import type { Page } from "../../services/pagination.ts";
import type { Draft } from "../form.ts";
import { Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Above, Empty, Fact, Pager } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { Releases, Version } from "./releases.tsx";

export const LIST = "/account/deployments";

interface ListProps {
  page: Page<Deployment>;
  isDeveloper: boolean;
  draft: Draft;
}

export const DeploymentsPage = ({ page, isDeveloper, draft }: ListProps) => {
  const isEmpty = page.items.length === 0;
  return (
    <>
      <h1>Deployments</h1>
      <p class="hint">
        A deployment is a name that runs one version of a model. It can keep containers running, and
        each change is a release that you can take back.{" "}
        <a href="/docs/deployments">How deployments work</a>
      </p>
      {isEmpty ? (
        <Empty title="No deployments yet">
          <p>Create one to call a model under a name of your own, whatever version it runs.</p>
        </Empty>
      ) : (
        <div class="scroll">
          <Table
            class="stacked"
            aria-label="Deployments"
            columns={["Deployment", "Runs", "Hardware", "Containers", "Release"]}
          >
            {page.items.map((deployment) => (
              <Row deployment={deployment} />
            ))}
          </Table>
        </div>
      )}
      <Pager previous={page.previous_url} next={page.next_url} />
      {isDeveloper && (
        <details class="new-token spaced" open={draft.values !== undefined || isEmpty}>
          <summary class="button primary" hidden={isEmpty}>
            New deployment
          </summary>
          <Form action={LIST} class="narrow" id="new-deployment" draft={draft}>
            <TextField
              name="name"
              label="Name"
              hint="Lowercase letters, digits, and . _ - between them. Models have the same namespace."
              maxlength={63}
              autocomplete="off"
              required
            />
            <SettingFields />
            <Submit>Create deployment</Submit>
          </Form>
        </details>
      )}
    </>
  );
};

const Row = ({ deployment }: { deployment: Deployment }) => {
  const { owner, name, current_release, next_release } = deployment;
  const shown = current_release ?? next_release;
  return (
    <tr>
      <th scope="row">
        <a href={`${LIST}/${name}`}>
          <bdi>{`${owner}/${name}`}</bdi>
        </a>
      </th>
      <td data-label="Runs">{shown && <Version release={shown} />}</td>
      <td data-label="Hardware">{shown?.configuration.hardware}</td>
      <td data-label="Containers">
        <Containers deployment={deployment} />
      </td>
      <td data-label="Release">
        {shown?.number}
        {next_release && current_release && `, ${next_release.number} is starting`}
      </td>
    </tr>
  );
};

function Containers({ deployment: { status, current_release } }: { deployment: Deployment }) {
  const { ready, starting, wanted, blocked_by } = status;
  if (current_release?.configuration.max_instances === 0)
    return <span class="status canceled">off</span>;
  if (wanted === 0) return <>on demand</>;
  const text = `${ready} of ${wanted} ready${starting > 0 ? `, ${starting} starting` : ""}`;
  return (
    <span class={`status ${blocked_by ? "failed" : ready < wanted ? "pending" : "succeeded"}`}>
      {text}
    </span>
  );
}

const number = (value: number | undefined) => (value === undefined ? "" : String(value));

const SettingFields = ({ release }: { release?: Release }) => (
  <>
    <TextField
      name="model"
      label="Model"
      hint="owner/name of a model that you can run."
      placeholder="demo/story"
      maxlength={127}
      autocomplete="off"
      value={release?.model ?? ""}
      required
    />
    <TextField
      name="version"
      label="Version"
      hint="Its number. Empty: the default version of the model now."
      type="number"
      min="1"
      value={number(release?.version)}
    />
    <TextField
      name="hardware"
      label="Hardware"
      hint={release ? undefined : "A hardware class. Empty: that of the version."}
      maxlength={63}
      autocomplete="off"
      value={release?.configuration.hardware ?? ""}
      required={release !== undefined}
    />
    <TextField
      name="min_instances"
      label="Containers to keep running"
      hint="They are never stopped for others. An operator grants how many your account may keep."
      type="number"
      min="0"
      max="100"
      value={number(release?.configuration.min_instances ?? 0)}
    />
    <TextField
      name="max_instances"
      label="Containers at most"
      hint="0 turns the deployment off."
      type="number"
      min="0"
      max="100"
      value={number(release?.configuration.max_instances ?? 100)}
    />
    <p class="hint">
      Fallbacks, a probe and other settings: with the API, or <code>auspex deploy</code>.
    </p>
  </>
);

interface OneProps {
  deployment: Deployment;
  releases: Page<ListedRelease>;
  isDeveloper: boolean;
  draft: Draft;
  /** Containers that the change in the draft takes from others, if that was asked for. */
  displaces: ChangedDeployment["displaces"] | undefined;
}

export const DeploymentPage = ({
  deployment,
  releases,
  isDeveloper,
  draft,
  displaces,
}: OneProps) => {
  const { owner, name, current_release, next_release, status } = deployment;
  const address = `${LIST}/${name}`;
  const newest = next_release ?? current_release;
  const fallbacks = newest?.configuration.fallbacks ?? [];
  const hasBefore = next_release !== null || releases.items.length > 1;
  return (
    <>
      <Above places={[[LIST, "Deployments"]]} />
      <h1>
        <bdi>{`${owner}/${name}`}</bdi>
      </h1>
      <dl class="facts">
        <Fact name="Runs">{current_release ? <Version release={current_release} /> : "–"}</Fact>
        <Fact name="Hardware">{newest?.configuration.hardware}</Fact>
        <Fact name="Containers">
          <Containers deployment={deployment} />
        </Fact>
        {fallbacks.length > 0 && (
          <Fact name="Fallbacks">
            {fallbacks
              .map(({ model, after_seconds: s }) => (s === null ? model : `${model} after ${s} s`))
              .join(", ")}
          </Fact>
        )}
      </dl>
      {status.reason !== null && <p class="flash warning">{status.reason}</p>}
      {next_release && (
        <p class="hint">
          {`Release ${next_release.number} is starting. `}
          {current_release
            ? `Release ${current_release.number} answers until it takes over.`
            : "The deployment answers once it has started."}
        </p>
      )}
      {isDeveloper && (
        <>
          <h2>Change</h2>
          <Form action={address} class="narrow" draft={draft}>
            {newest && <SettingFields release={newest} />}
            {displaces && <Displaces displaces={displaces} />}
            <p class="flow actions">
              <button type="submit" class="primary">
                Release
              </button>
              <button type="submit" class="quiet" name="check" value="true">
                Show what it displaces
              </button>
            </p>
          </Form>
        </>
      )}
      <h2 id="releases-title">Releases</h2>
      <Releases releases={releases.items} deployment={deployment} areAllCounted={isDeveloper} />
      <Pager previous={releases.previous_url} next={releases.next_url} />
      {isDeveloper && (
        <div class="flow actions">
          {hasBefore && (
            <Form action={`${address}/rollback`} data-confirm="Go back to the release before?">
              <Submit kind="quiet">Roll back</Submit>
            </Form>
          )}
          <Form
            action={`${address}/delete`}
            data-confirm={`Delete ${owner}/${name}? Calls of it fail from then on.`}
          >
            <Submit kind="danger">Delete deployment</Submit>
          </Form>
        </div>
      )}
    </>
  );
};

const Displaces = ({ displaces }: Pick<ChangedDeployment, "displaces">) => (
  <p role="status">
    {displaces.length === 0
      ? "Nothing is displaced as of now: there is room."
      : `As of now it displaces ${displaces
          .map(({ model, containers }) => `${model ?? "models of others"} (${containers})`)
          .join(", ")}.`}
  </p>
);
