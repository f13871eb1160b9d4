/** The form above the list of predictions, and what of it is on. */
import { taskStatus } from "../../protocol/prediction.ts";
import { chipsOf, type ListQuery, type TextFilter } from "./filters.ts";

/** The others are rare, and folded until one is on. */
const RARE: TextFilter[] = ["id", "token", "from", "to", "longer"];

export function Filters({ listQuery }: { listQuery: ListQuery }) {
  const { query, values, issues } = listQuery;
  const chips = chipsOf(listQuery);
  const isRare = RARE.some((name) => values[name] !== "" || issues[name]);
  return (
    <>
      <form method="get" action="/predictions" class="prediction-filters" data-filters>
        <fieldset>
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
          <summary>More filters</summary>
          <div class="rare">
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
              label="Ran at least (s)"
              of={listQuery}
              inputmode="decimal"
              maxlength={13}
            />
          </div>
        </details>
        <button type="submit" class="quiet">
          Filter
        </button>
      </form>
      {chips.length > 0 && (
        <ul class="chips" aria-label="Filters that are on">
          {chips.map(({ text, address }) => (
            <li>
              <a class="chip" href={address} aria-label={`Remove: ${text}`}>
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
    <p class="filter">
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
