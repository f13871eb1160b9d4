/** Your predictions, newest first; client/predictions.ts keeps the list up to date. */
import { START_CHECK } from "../../domain/accounts/usage.ts";
import { isTerminal } from "../../domain/predictions/status.ts";
import { taskStatus } from "../../protocol/prediction.ts";
import type { Page } from "../../services/pagination.ts";
import type { ListedPrediction } from "../../services/predictions/prediction-view.ts";
import { durationText } from "../ui/duration.ts";
import { Submit } from "../ui/fields.tsx";
import { Empty, IdCell, Pager, Status, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { chipsOf, type ListQuery, type TextFilter } from "./filters.ts";

export const PredictionsPage = ({
  listQuery,
  page,
}: {
  listQuery: ListQuery;
  /** Absent when the query is invalid. */
  page: Page<ListedPrediction> | undefined;
}) => (
  <>
    <h1>Predictions</h1>
    <Filters listQuery={listQuery} />
    {page && (
      <div data-list data-first={page.previous_cursor === null ? "true" : undefined}>
        <List isFiltered={chipsOf(listQuery).length > 0} page={page} />
      </div>
    )}
  </>
);

function List({ isFiltered, page }: { isFiltered: boolean; page: Page<ListedPrediction> }) {
  if (page.items.length === 0)
    return page.next_url === null && page.previous_url === null ? (
      <NoPredictions filtered={isFiltered} />
    ) : (
      <NoneHere page={page} />
    );
  return (
    <>
      <PredictionTable predictions={page.items} />
      <Pager previous={page.previous_url} next={page.next_url} />
    </>
  );
}

export function PredictionTable({ predictions }: { predictions: ListedPrediction[] }) {
  const live = predictions.some(({ prediction }) => !isTerminal(prediction.status));
  return (
    <Table
      class="stacked linked predictions"
      data-live={live ? "true" : undefined}
      columns={[
        "Model",
        "Status",
        "Created",
        { name: "Setup", is: "number" },
        { name: "Execution", is: "number" },
        "ID",
      ]}
    >
      {predictions.map((one) => (
        <Row item={one} />
      ))}
    </Table>
  );
}

function Row({
  item: { prediction, model, prompt, token, waitsAgain },
}: {
  item: ListedPrediction;
}) {
  const { id, status, created_at, setup_time, execution_time, error } = prediction;
  const { owner, name, version_number } = prediction.model;
  // A service token is its own maker, and named once.
  const maker = prediction.created_by === token ? null : prediction.created_by;
  const isStartCheck = token === START_CHECK.token_name;
  return (
    <tr data-row={id}>
      <th scope="row">
        <a href={`/predictions/${id}`}>{model ?? `${owner}/${name}`}</a>{" "}
        <small>{`version ${version_number}`}</small>{" "}
        {isStartCheck && <span class="badge">Start check</span>}{" "}
        {prompt && (
          <small class="prompt clip" dir="auto" title={prompt}>
            {prompt}
          </small>
        )}
      </th>
      <td data-label="Status">
        <Status status={status} waitsAgain={waitsAgain} />
        {error && " "}
        {error && (
          <small class="error-excerpt clip" dir="auto" title={error.message}>
            {excerpt(error.message)}
          </small>
        )}
      </td>
      <td data-label="Created">
        <Time at={created_at} />{" "}
        {maker && !isStartCheck && <small class="by clip">{`by ${maker}`}</small>}{" "}
        {token && !isStartCheck && (
          <small class="by token clip">
            {maker ? "with " : "by "}
            <a href={`/predictions?${new URLSearchParams({ token })}`}>
              <bdi>{token}</bdi>
            </a>
          </small>
        )}
      </td>
      <td class="number" data-label="Setup">
        {durationText(setup_time)}
      </td>
      <td class="number" data-label="Execution">
        {durationText(execution_time)}
      </td>
      <IdCell id={id} />
    </tr>
  );
}

const EXCERPT = 90;
const excerpt = (text: string) => (text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text);

/** A page of a filtered list searches only some predictions of an account that has very many. */
const NoneHere = ({ page }: { page: Page<ListedPrediction> }) => (
  <>
    <Empty title="No matches on this page">
      {page.next_url && <p>Continue with the next page to search older predictions.</p>}
    </Empty>
    <Pager previous={page.previous_url} next={page.next_url} />
  </>
);

const NoPredictions = ({ filtered }: { filtered: boolean }) =>
  filtered ? (
    <Empty title="No predictions match these filters">
      <p>
        <a href="/predictions">Show all predictions</a>
      </p>
    </Empty>
  ) : (
    <Empty title="No predictions yet">
      <p>Run a model in its playground or with the API.</p>
      <p class="flow actions">
        <a class="button primary" href="/models">
          Browse models
        </a>
        <a class="button quiet" href="/docs">
          Read the docs
        </a>
      </p>
    </Empty>
  );

/** The others are rare, and folded until one is on. */
const RARE: TextFilter[] = ["id", "token", "from", "to", "longer"];

function Filters({ listQuery }: { listQuery: ListQuery }) {
  const { query, values, issues } = listQuery;
  const chips = chipsOf(listQuery);
  const isRare = RARE.some((name) => values[name] !== "" || issues[name]);
  return (
    <>
      <form method="get" action="/predictions" class="bar filters" data-filters>
        <fieldset class="bar">
          <legend class="visually-hidden">Status</legend>
          {taskStatus.options.map((status) => (
            <label class="choice">
              <input
                type="checkbox"
                name="statuses"
                value={status}
                checked={query.statuses.includes(status)}
              />
              {status}
            </label>
          ))}
        </fieldset>
        <Text name="model" label="Model" of={listQuery} placeholder="owner/name" maxlength={127} />
        <details open={isRare}>
          <summary class="quiet small">More filters</summary>
          <div class="cards">
            <Text
              name="id"
              label="ID"
              of={listQuery}
              placeholder="or its beginning or end"
              maxlength={39}
            />
            <Text name="token" label="Token" of={listQuery} placeholder="name" maxlength={100} />
            <Text name="from" label="From (UTC)" of={listQuery} type="date" />
            <Text name="to" label="Until" of={listQuery} type="date" />
            <Text
              name="longer"
              label="Min. execution time (s)"
              of={listQuery}
              inputmode="decimal"
              maxlength={13}
            />
          </div>
        </details>
        <Submit kind="quiet">Filter</Submit>
      </form>
      {chips.length > 0 && (
        <ul class="bar small below chips" aria-label="Active filters">
          {chips.map(({ text, address }) => (
            <li>
              <a class="line-up chip" href={address} aria-label={`Remove: ${text}`}>
                <bdi>{text}</bdi>
                <span aria-hidden="true">×</span>
              </a>
            </li>
          ))}
          <li>
            <a href="/predictions">Clear</a>
          </li>
        </ul>
      )}
    </>
  );
}

function Text({
  name,
  label,
  of: { values, issues },
  type = "text",
  ...rest
}: {
  name: TextFilter;
  label: string;
  of: ListQuery;
  type?: "text" | "date";
  placeholder?: string;
  maxlength?: number;
  inputmode?: "decimal";
}) {
  const issue = issues[name];
  return (
    <p class="bar flush filter">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={type}
        value={values[name]}
        autocapitalize="none"
        autocomplete="off"
        spellcheck={false}
        {...rest}
        {...(issue && { "aria-invalid": "true", "aria-describedby": `${name}-error` })}
      />
      {issue && (
        <span class="field-error" id={`${name}-error`}>
          {issue}
        </span>
      )}
    </p>
  );
}
