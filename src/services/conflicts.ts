/** Writes that D1 refuses for a reason that the caller can do something about. */
import { conflict } from "../errors.ts";

/**
 * @param isReason tells the reason by the error, `isDuplicate` or `isLimitReached`
 * @throws ProblemError conflict, with `detail`, where it fails for that reason
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
