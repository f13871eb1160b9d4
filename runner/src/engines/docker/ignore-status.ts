/** Ignores errors of Docker that are expected, such as removing something that is already gone. */

/** Returns Docker's response; undefined for one of these statuses. */
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
