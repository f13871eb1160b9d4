/** Answers of Docker that are no trouble: what should go has gone, or was never there. */

/** Docker's answer; undefined when it is one of these statuses. */
export async function ignoreStatus<T>(
  statuses: number[],
  answer: Promise<T>,
): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
    if (typeof status === "number" && statuses.includes(status)) return undefined;
    throw error;
  }
}
