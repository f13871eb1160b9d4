/** One call through each client, in its types; prints the answers. */
import createFetchClient from "openapi-fetch";
import { createClient } from "./generated/hey-api/client";
import { createPrediction as viaHeyApi } from "./generated/hey-api/sdk.gen";
import type { paths } from "./generated/openapi-typescript";
import { type CreatePrediction, type Json, createPrediction as viaOrval } from "./generated/orval";

const { BASE = "", TOKEN = "", MODEL = "" } = process.env;
const headers = { authorization: `Bearer ${TOKEN}`, prefer: "wait=30" };

/** A value of any JSON is accepted, and fields with defaults may be left out. */
const nested: Json = [1, null, { deep: ["a", { deeper: true }] }];
const body = { model: MODEL, input: { name: "Ada", nested } } satisfies CreatePrediction;

const first = createFetchClient<paths>({ baseUrl: BASE, headers });
const { data, error } = await first.POST("/predictions", { body });
console.log("openapi-typescript", error ?? data.output);

const second = await viaHeyApi({ client: createClient({ baseUrl: BASE, headers }), body });
console.log("hey-api", second.error ?? second.data.output);

const third = await viaOrval(body, { headers });
console.log("orval", third.status === 200 ? third.data.output : third.status);
