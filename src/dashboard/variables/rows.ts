/** The variables that a model has, and those that its latest version wants and does not get. */
import type { Configuration } from "../../protocol/model.ts";
import type { Variable } from "../../protocol/variable.ts";

export interface VariableRow {
  name: string;
  /** When it was set; null when it is not. */
  updated_at: string | null;
  /** Whether the latest version names it. */
  listed: boolean;
}

/** By name. */
export function rowsOf(
  variables: Variable[],
  version: { configuration: Configuration } | null,
): VariableRow[] {
  const listed = new Set(version?.configuration.variable_names);
  const names = new Set([...variables.map(({ name }) => name), ...listed]);
  const setAt = new Map(variables.map(({ name, updated_at }) => [name, updated_at]));
  return [...names]
    .sort()
    .map((name) => ({ name, updated_at: setAt.get(name) ?? null, listed: listed.has(name) }));
}
