/** Texts in which a secret must not be: lines of the processes, and what else a test reads. */
import { vi } from "vitest";

/** Records from now on the log of workerd, and what Miniflare logs of it: both use this console. */
export function listen(): () => string[] {
  const spies = (["log", "info", "warn", "error"] as const).map((name) => vi.spyOn(console, name));
  return () => spies.flatMap(({ mock }) => mock.calls.map((words) => words.join(" ")));
}

/** Returns the secrets that are in any of the texts, with the text around them. */
export function leaksIn(texts: string[], secrets: string[]): string[] {
  const keys = secrets.map((secret) => secret.replace(/^whsec_/, ""));
  return texts.flatMap((text) => {
    const at = keys.map((key) => text.indexOf(key)).filter((index) => index >= 0);
    return at.map((index) => text.slice(Math.max(0, index - 100), index + 100));
  });
}
