/** The events before the first output: a failure among them is reported with an HTTP status. */
import type { OpenAiProblem } from "../../errors/openai.ts";
import { prediction } from "../../protocol/prediction.ts";
import { failureOf } from "./failure.ts";
import type { LogReader, NumberedEntry } from "./log-reader.ts";

/**
 * How long the first event is awaited. Then the stream begins without output, so that no proxy closes the
 * connection.
 */
const HOLD_MS = 15_000;

const isOutput = ({ event }: NumberedEntry) => event === "output";

/** Returns the entries up to the first output or the end, after `HOLD_MS` at most. */
export async function readUntilOutput(reader: LogReader): Promise<NumberedEntry[]> {
  const entries: NumberedEntry[] = [];
  const { promise: over, resolve } = Promise.withResolvers<"over">();
  const hold = setTimeout(() => resolve("over"), HOLD_MS);
  try {
    for (;;) {
      const seen = await Promise.race([reader.peek(), over]);
      if (seen === "over" || seen === undefined) break;
      await reader.next();
      entries.push(...seen);
      if (seen.some((entry) => isOutput(entry) || entry.event === "done")) break;
    }
  } catch (error) {
    await reader.cancel();
    throw error;
  } finally {
    clearTimeout(hold);
  }
  return entries;
}

/**
 * Returns the failure of a prediction that failed before its first output.
 * @param timeoutSeconds as in `failureOf`
 */
export function failureBeforeOutput(
  entries: NumberedEntry[],
  timeoutSeconds: number,
): OpenAiProblem | undefined {
  const last = entries.at(-1);
  if (last?.event !== "done" || entries.some(isOutput)) return undefined;
  return failureOf(prediction.parse(last.data), timeoutSeconds);
}
