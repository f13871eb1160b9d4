/** The search in a log, as an address has it. */
import { LOG_LEVELS, type LogQuery } from "../../domain/predictions/log-search.ts";
import type { PageContext } from "../context.ts";

/** The most characters that a log is searched for. */
const MAX_FIND_CHARS = 200;

/** Unknown values are ignored: people edit addresses by hand. */
export function readLogQuery(c: PageContext): LogQuery {
  const { find = "", level } = c.req.query();
  const known = LOG_LEVELS.find((one) => one === level);
  return { find: find.slice(0, MAX_FIND_CHARS), level: known };
}
