/** The priority of a new prediction. */
import { DEFAULT_PRIORITY, PRIORITIES, type Priority } from "../../protocol/common.ts";

/**
 * @param held the highest priority of the token's predictions. Null: any
 * @returns undefined if the token may not use the priority that is asked for
 */
export function priorityOf(
  asked: Priority | undefined,
  held: Priority | null,
): Priority | undefined {
  if (asked === undefined || held === null) return asked ?? held ?? DEFAULT_PRIORITY;
  return PRIORITIES.indexOf(asked) <= PRIORITIES.indexOf(held) ? asked : undefined;
}
