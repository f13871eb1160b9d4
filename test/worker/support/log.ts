/** The log of the Worker, parsed. */
import { type MockInstance, vi } from "vitest";

interface Entry {
  level: string;
  message: string;
  [name: string]: unknown;
}

/** Captures the log's entries of a level instead of printing them, until mocks are restored. */
export function captureLog(
  level: "info" | "warn" | "error",
): MockInstance & { entries(): Entry[] } {
  const spy = vi.spyOn(console, level).mockImplementation(() => {});
  return Object.assign(spy, {
    entries: () => spy.mock.calls.map(([line]): Entry => JSON.parse(line)),
  });
}
