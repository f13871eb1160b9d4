/** Test deliveries and redeliveries on demand, which are limited like creates of predictions. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import type { Bindings } from "../../../src/env.ts";
import { ORIGIN } from "../support/client.ts";
import { WEBHOOK_ENDPOINTS } from "../support/endpoints.ts";
import { newClient, newUser } from "../support/world.ts";

/** The limit of test/projects/worker.ts in 10 s, which is less than a token has. */
const LIMIT = 6;

const limited: Bindings = Object.assign({}, env, { RATE_LIMITS: "on" });

const NOBODY = crypto.randomUUID();

test.each([
  ["a test delivery", `${WEBHOOK_ENDPOINTS}/${NOBODY}/test`],
  ["a redelivery", `/v1/predictions/${NOBODY}/webhooks/evt_${NOBODY}_1/redeliver`],
])("%s is limited over all tokens of the account, which may still read", async (_, path) => {
  const { client, username } = await newUser();
  const tokens = [client.token, (await newClient(username)).token];
  const ask = async (method: string, to: string, n: number) => {
    const headers = { authorization: `Bearer ${tokens[n % 2]}` };
    const request = new Request(ORIGIN + to, { method, headers });
    const response = await app.fetch(request, limited, createExecutionContext());
    return { status: response.status, body: await response.text() };
  };
  const answers = [];
  // The window follows the wall clock. If it ends in between, as many requests again are let in.
  do answers.push(await ask("POST", path, answers.length));
  while (answers.at(-1)?.status === 404 && answers.length <= 2 * LIMIT);
  const refused = answers.pop();
  expect(refused).toMatchObject({ status: 429, body: expect.stringContaining("by this account") });
  expect(answers.length).toBeGreaterThanOrEqual(LIMIT);
  expect((await ask("GET", WEBHOOK_ENDPOINTS, 0)).status).toBe(200);
});

test("a redelivery to an invalid receiver is refused with the permitted values", async () => {
  const { client } = await newUser();
  const path = `/v1/predictions/${NOBODY}/webhooks/evt_${NOBODY}_1/redeliver?receiver=me`;
  expect(await client.json("POST", path)).toMatchObject({
    status: 422,
    body: {
      detail: [
        {
          loc: ["query", "receiver"],
          type: "uuid_parsing",
          msg: "Input should be the id of an endpoint, or 'prediction'",
          input: "me",
        },
      ],
    },
  });
});
