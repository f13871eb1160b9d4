/** Checks of refusals: what they contain, and that nothing was created. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { Answer, Refusal } from "./client.ts";
import { countRows } from "./objects.ts";
import type { World } from "./world.ts";

/** Expects that no row was created and no job waits. */
export async function expectUntouched({ user_id, hardware }: World) {
  expect(await countRows(user_id)).toBe(0);
  expect(await env.POOL.getByName(hardware).status()).toMatchObject({ waiting: 0, free: 0 });
}

/** Expects a 422 that names the place of the error. */
export function expectInvalid({ status, headers, body }: Answer<Refusal>, ...loc: string[]) {
  expect(status).toBe(422);
  expect(headers.get("content-type")).toMatch("application/json");
  expect(body.detail).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        loc,
        msg: expect.stringMatching(/./),
        type: expect.stringMatching(/^[a-z_]+$/),
      }),
    ]),
  );
}

export function expectProblem(
  { status, headers, body }: Answer<Refusal>,
  expected: number,
  type: string,
) {
  expect(status).toBe(expected);
  expect(headers.get("content-type")).toBe("application/problem+json");
  expect(body).toEqual({
    type: `urn:auspex:${type}`,
    title: expect.stringMatching(/./),
    status: expected,
    detail: expect.stringMatching(/./),
    request_id: headers.get("x-request-id"),
  });
}
