/** Texts in which a secret must not be: answers of the API, and lines of the processes. */
import { setTimeout as sleep } from "node:timers/promises";
import { vi } from "vitest";
import { type Call, Client } from "../../../src/dev/client.ts";

/** Between two calls while the control plane is away, ms; and how often. */
const RETRY_MS = 50;
const MOST_TRIES = 400;

/**
 * A client that keeps every answer. It repeats a call that breaks off, such as when the control plane is
 * killed; a call that must not happen twice has an Idempotency-Key.
 */
export class Witness extends Client {
  readonly answers: string[] = [];

  override async fetch(method: string, path: string, call?: Call): Promise<Response> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#ask(method, path, call).catch((error: unknown) => {
        if (tries === MOST_TRIES) throw error;
        return undefined;
      });
      if (answer && (answer.status < 500 || tries === MOST_TRIES)) return answer;
      await sleep(RETRY_MS);
    }
  }

  async #ask(method: string, path: string, call?: Call): Promise<Response> {
    const response = await super.fetch(method, path, call);
    const text = await response.text();
    this.answers.push(`${JSON.stringify([...response.headers])}\n${text}`);
    const { status, headers } = response;
    return new Response(text === "" ? null : text, { status, headers });
  }
}

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
