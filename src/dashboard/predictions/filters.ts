/** The filters of the list as they stand in the address of its page. */
import { readIdPart } from "../../domain/predictions/prediction-id.ts";
import { type PredictionQuery, predictionQuery, taskStatus } from "../../protocol/prediction.ts";

const DAY_MS = 86_400_000;

export const TEXT_FILTERS = ["model", "id", "token", "from", "to", "longer"] as const;
export type TextFilter = (typeof TEXT_FILTERS)[number];

export interface ListQuery {
  query: PredictionQuery;
  /** Values of the text filters, verbatim, also when invalid; empty when a filter is off. */
  values: Record<TextFilter, string>;
  issues: Partial<Record<TextFilter, string>>;
}

interface Filter {
  /** The API has the filter under this name. */
  api: keyof PredictionQuery;
  /** The error of an invalid value. */
  problem: string;
  label: (value: string) => string;
}

const DATE = "Enter a date such as 2026-11-27.";

const FILTERS: Record<TextFilter, Filter> = {
  model: { api: "model", problem: "Use owner/name.", label: (value) => value },
  id: {
    api: "id",
    problem: "Enter an ID, its beginning, or at least 8 characters of its end.",
    label: (value) => {
      const { ending } = readIdPart(value, Date.now());
      return ending === undefined ? `ID begins with ${value}` : `ID ends with ${ending}`;
    },
  },
  token: {
    api: "token",
    problem: "Use at most 100 characters.",
    label: (value) => `Token ${value}`,
  },
  from: { api: "created_after", problem: DATE, label: (value) => `From ${value}` },
  to: { api: "created_before", problem: DATE, label: (value) => `Until ${value}` },
  longer: {
    api: "min_execution_time",
    problem: "Enter seconds, such as 2.5.",
    label: (value) => `At least ${value} s`,
  },
};

/** @returns undefined for an address that no form makes */
export function readListQuery({ searchParams }: URL): ListQuery | undefined {
  const textOf = (name: TextFilter) => (searchParams.get(name) ?? "").trim();
  const values: ListQuery["values"] = {
    model: textOf("model"),
    id: textOf("id"),
    token: textOf("token"),
    from: textOf("from"),
    to: textOf("to"),
    longer: textOf("longer"),
  };
  const rest = {
    statuses: searchParams.getAll("statuses"),
    ...given(searchParams, "cursor"),
    ...given(searchParams, "page_size"),
  };
  const filters = Object.fromEntries(
    TEXT_FILTERS.flatMap((name) =>
      values[name] ? [[FILTERS[name].api, asked(name, values[name])]] : [],
    ),
  );
  const result = predictionQuery.safeParse({ ...rest, ...filters });
  if (result.success && !isReversed(values)) return { query: result.data, values, issues: {} };
  const wrong = TEXT_FILTERS.filter((name) =>
    result.error?.issues.some(({ path }) => path[0] === FILTERS[name].api),
  );
  const without = predictionQuery.safeParse(rest);
  if (!without.success) return undefined;
  const issues: ListQuery["issues"] = result.success
    ? { to: "Must be on or after the start date." }
    : Object.fromEntries(wrong.map((name) => [name, FILTERS[name].problem]));
  return { query: without.data, values, issues };
}

const isReversed = ({ from, to }: ListQuery["values"]) =>
  from !== "" && to !== "" && Date.parse(from) > Date.parse(to);

/** Up to the end of a day: before the next one. */
function asked(name: TextFilter, value: string): string {
  const at = name === "to" && /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? value : new Date(at + DAY_MS).toISOString().slice(0, 10);
}

const given = (params: URLSearchParams, name: string) => {
  const value = params.get(name);
  return value === null ? {} : { [name]: value };
};

export interface Chip {
  text: string;
  address: string;
}

/** Returns the filters that are set, each with the address of the list without it. */
export function chipsOf({ query, values, issues }: ListQuery): Chip[] {
  const on = new URLSearchParams([
    ...query.statuses.map((status) => ["statuses", status]),
    ...TEXT_FILTERS.flatMap((name) =>
      values[name] && !issues[name] ? [[name, values[name]]] : [],
    ),
  ]);
  return [...on].map(([name, value]) => {
    const others = new URLSearchParams(
      [...on].filter((pair) => pair[0] !== name || pair[1] !== value),
    );
    const isStatus = taskStatus.safeParse(value).success && name === "statuses";
    const label = TEXT_FILTERS.find((one) => one === name);
    const text = isStatus || !label ? value : FILTERS[label].label(value);
    return { text, address: `/predictions${others.size > 0 ? `?${others}` : ""}` };
  });
}
