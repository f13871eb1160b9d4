/** Which priority a new prediction has. */
import { DEFAULT_PRIORITY, PRIORITIES, type Priority } from "../../protocol/common.ts";

/**
 * @param held what the token is held to: its predictions have that, or a lower one. Null: any
 * @returns undefined if the token may not use what is asked for
 */
export function priorityOf(
  asked: Priority | undefined,
  held: Priority | null,
): Priority | undefined {
  if (asked === undefined || held === null) return asked ?? held ?? DEFAULT_PRIORITY;
  return PRIORITIES.indexOf(asked) <= PRIORITIES.indexOf(held) ? asked : undefined;
}
