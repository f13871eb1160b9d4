/** What a refusal has to say, and that nothing came of what was refused. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { Answer, Refusal } from "./client.ts";
import { countRows } from "./objects.ts";
import type { World } from "./world.ts";

/** Nothing was created, and nothing waits. */
export async function expectUntouched({ user_id, hardware }: World) {
  expect(await countRows(user_id)).toBe(0);
  expect(await env.POOL.getByName(hardware).status()).toMatchObject({ waiting: 0, free: 0 });
}

/** A 422 that names the place. */
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
