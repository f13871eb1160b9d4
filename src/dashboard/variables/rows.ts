/** The variables of a model, with those that its latest version lists but nobody has set. */
import type { Configuration } from "../../protocol/model.ts";
import type { Variable } from "../../protocol/variable.ts";

export interface VariableRow {
  name: string;
  /** The time at which the variable was last set; null when it is not set. */
  updated_at: string | null;
  /** Whether the latest version lists it. */
  listed: boolean;
}

/** Sorted by name. */
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
