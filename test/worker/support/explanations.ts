/** Explanations of predictions that wait. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { type Explanation, explanation } from "../../../src/protocol/explanation.ts";
import type { Client } from "./client.ts";
import { eventually } from "./eventually.ts";
import { DIGEST, operator, type World } from "./world.ts";

export const pathOf = (id: string) => `/v1/predictions/${id}/explain`;

export async function explain(client: Client, id: string): Promise<Explanation> {
  const shown = await client.ok<Explanation>("GET", pathOf(id));
  expect(explanation.strict().parse(shown)).toEqual(shown);
  return shown;
}

export const forOperator = ({ username }: { username: string }, id: string) =>
  operator.ok<Explanation>("GET", `/v1/operator/users/${username}/predictions/${id}/explain`);

export const lineOf = ({ hardware }: World, waiting: number) =>
  eventually(async () =>
    expect((await env.POOL.getByName(hardware).status()).waiting).toBe(waiting),
  );

/** Another model on the same hardware, public. */
export async function newOther({ client, username, hardware }: World): Promise<string> {
  const model = `${username}/other`;
  const fields = { name: "other", visibility: "public", hardware_identifier: hardware };
  await client.ok("POST", "/v1/models", fields);
  await client.ok("POST", `/v1/models/${model}/versions`, {
    release_notes: "",
    container_image_digest: DIGEST,
    schemas: { prediction: { input: {}, output: {} } },
  });
  return model;
}
