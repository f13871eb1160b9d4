/** The app with its rate limits turned on: the bindings are real, with the low numbers of test/projects/worker.ts. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { app } from "../../../src/app.ts";
import type { Bindings } from "../../../src/env.ts";
import { ORIGIN } from "./client.ts";

export const LIMITS = { address: 5, token: 8, user: 12, writes: 4, predictions: 6 };

/** The statements that D1 received. */
export const questions: string[] = [];

const limited: Bindings = Object.assign({}, env, {
  RATE_LIMITS: "on",
  RATE_LIMIT_NUMBERS: LIMITS,
  DB: new Proxy(env.DB, {
    get(target, name) {
      if (name !== "prepare") return Reflect.get(target, name).bind(target);
      return (text: string) => {
        questions.push(text);
        return target.prepare(text);
      };
    },
  }),
});

let count = 0;
/** Returns an address that has not made a request yet. */
export const newAddress = () => `203.0.113.${++count}`;

export async function ask(path: string, address: string, token?: string, init: RequestInit = {}) {
  const headers = {
    "cf-connecting-ip": address,
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...init.headers,
  };
  const request = new Request(`${ORIGIN}${path}`, { ...init, headers });
  return app.fetch(request, limited, createExecutionContext());
}

/**
 * Requests until one is refused. The binding counts in windows of the wall clock, so a test may see the end
 * of one and the beginning of the next: at most twice the limit is let through.
 */
export async function askUntilRefused(limit: number, asking: () => Promise<Response>) {
  for (let asked = 0; asked <= 2 * limit; asked++) {
    const response = await asking();
    if (response.status !== 429) {
      await response.body?.cancel();
      continue;
    }
    expect(asked).toBeGreaterThanOrEqual(limit);
    return response;
  }
  throw new Error(`${2 * limit + 1} requests were let through`);
}

export async function expectRefusal(response: Response, what: string) {
  expect(response.headers.get("retry-after")).toBe("10");
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(await response.json()).toMatchObject({
    type: "urn:auspex:too_many_requests",
    detail: expect.stringContaining(what),
  });
}
