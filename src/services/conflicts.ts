/** Turns constraint violations that the caller can resolve into conflicts. */
import { conflict } from "../errors/errors.ts";

/**
 * @param isReason recognizes the violation by its error: `isDuplicate` or `isLimitReached`
 * @throws ProblemError conflict with `detail` for that violation
 */
export async function orConflict<Row>(
  writing: Promise<Row>,
  isReason: (error: unknown) => boolean,
  detail: string,
): Promise<Row> {
  try {
    return await writing;
  } catch (error) {
    throw isReason(error) ? conflict(detail) : error;
  }
}
