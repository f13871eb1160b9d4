/** Raw requests that no client sends by mistake: any method, address and body. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { app } from "../../../src/app.ts";
import { type Client, ORIGIN } from "./client.ts";

export const JSON_TYPE = { "content-type": "application/json" };

/** Returns a function that sends requests with the token of a client. */
export const rawRequests =
  ({ token }: Client) =>
  async (method: string, path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    const request = new Request(`${ORIGIN}${path}`, { ...init, method, headers });
    const response = await app.fetch(request, env, createExecutionContext());
    const text = await response.text();
    return { response, status: response.status, text, body: text ? JSON.parse(text) : undefined };
  };

type RawAnswer = Awaited<ReturnType<ReturnType<typeof rawRequests>>>;

/** Expects a problem that is not cached. */
export function expectRawProblem({ response, body }: RawAnswer, status: number, type: string) {
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(body).toEqual({
    type: `urn:auspex:${type}`,
    title: expect.stringMatching(/./),
    status,
    detail: expect.stringMatching(/./),
    request_id: response.headers.get("x-request-id"),
  });
}
