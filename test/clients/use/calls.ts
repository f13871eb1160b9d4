/** One call through each client, as its types have it; what it answers, printed. */
import createFetchClient from "openapi-fetch";
import { createClient } from "./generated/hey-api/client";
import { createPrediction as viaHeyApi } from "./generated/hey-api/sdk.gen";
import type { paths } from "./generated/openapi-typescript";
import { type CreatePrediction, type Json, createPrediction as viaOrval } from "./generated/orval";

const { BASE = "", TOKEN = "", MODEL = "" } = process.env;
const headers = { authorization: `Bearer ${TOKEN}`, prefer: "wait=30" };

/** Any JSON goes in, and what has a default may be left out. */
const nested: Json = [1, null, { deep: ["a", { deeper: true }] }];
const body = { model: MODEL, input: { name: "Ada", nested } } satisfies CreatePrediction;

/** Such a call is answered with a prediction, or its event stream where that is asked for. */
const outputOf = (answer: { output?: unknown } | string | undefined) =>
  typeof answer === "object" ? answer.output : answer;

const first = createFetchClient<paths>({ baseUrl: BASE, headers });
const { data, error } = await first.POST("/predictions", { body });
console.log("openapi-typescript", error ?? outputOf(data));

const second = await viaHeyApi({ client: createClient({ baseUrl: BASE, headers }), body });
console.log("hey-api", second.error ?? outputOf(second.data));

const third = await viaOrval(body, { headers });
console.log("orval", third.status === 200 ? outputOf(third.data) : third.status);
