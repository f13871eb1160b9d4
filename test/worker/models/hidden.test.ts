/** A private model takes the same look-ups as a missing one, so that times do not reveal it. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { Bindings } from "../../../src/env.ts";
import worker from "../../../src/worker.ts";
import { ORIGIN } from "../support/client.ts";
import { newUser, newWorld } from "../support/world.ts";

/** The statements that D1 has received, in order. */
let questions: string[] = [];

const bindings: Bindings = Object.assign({}, env, {
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

const owner = await newWorld({ visibility: "private" });
const { client: stranger } = await newUser();

async function asking(
  { token }: { token: string | undefined },
  method: string,
  path: string,
  body?: object,
) {
  questions = [];
  const request = new Request(`${ORIGIN}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      "content-type": "application/json",
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const response = await worker.fetch(request, bindings, createExecutionContext());
  return { status: response.status, body: await response.text(), questions };
}

/** Asks for a model twice, the first time to fill the caches. Returns the second answer. */
async function seen(
  who: { token: string | undefined },
  ask: [string, (model: string) => string],
  model: string,
  body?: (model: string) => object,
) {
  const [method, path] = ask;
  await asking(who, method, path(model), body?.(model));
  const answer = await asking(who, method, path(model), body?.(model));
  return {
    ...answer,
    body: answer.body.replaceAll(model, "MODEL").replace(/"request_id":"[^"]+"/, ""),
  };
}

const CASES: [string, [string, (model: string) => string], ((model: string) => object)?][] = [
  ["get of a model", ["GET", (model) => `/v1/models/${model}`]],
  ["list of versions", ["GET", (model) => `/v1/models/${model}/versions`]],
  ["get of a version", ["GET", (model) => `/v1/models/${model}/versions/1`]],
  ["change", ["PATCH", (model) => `/v1/models/${model}`], () => ({ description: "mine" })],
  ["create", ["POST", () => "/v1/predictions"], (model) => ({ model, input: {} })],
  [
    "create with a version",
    ["POST", () => "/v1/predictions"],
    (model) => ({ model: `${model}:1`, input: {} }),
  ],
  [
    "call of vendora",
    ["POST", () => "/v1/vendora/chat/completions"],
    (model) => ({ model, messages: [{ role: "user", content: "hi" }] }),
  ],
  ["list of predictions", ["GET", (model) => `/v1/predictions?model=${model}`]],
  ["search", ["GET", (model) => `/v1/search/models?q=${model}`]],
];

test.each(CASES)(
  "a stranger's %s sends D1 the same statements for a private and a missing model",
  async (_, ask, body) => {
    // The owner runs the model, so that the caches have everything about it.
    const warm = { model: owner.model, input: {} };
    expect((await asking(owner.client, "POST", "/v1/predictions", warm)).status).toBe(202);
    const hidden = await seen(stranger, ask, owner.model, body);
    const absent = await seen(stranger, ask, `${owner.username}/nothing`, body);
    expect(hidden).toEqual(absent);
    expect(hidden.questions.length).toBeGreaterThan(0);
  },
);

test("an owner's second create sends D1 no statement for the model", async () => {
  const { client, model } = await newWorld({ visibility: "private" });
  const body = { model, input: {} };
  await asking(client, "POST", "/v1/predictions", body);
  const { status, questions: asked } = await asking(client, "POST", "/v1/predictions", body);
  expect(status).toBe(202);
  expect(asked.filter((text) => !/^insert into "predictions"/.test(text))).toEqual([]);
});
