/** Thousands of random requests to the registry, whose answers must have a registry's form. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Client } from "../support/client.ts";
import { type Known, type RegistryPlan, registryPlans } from "../support/fuzz/registry-plan.ts";
import { registryFaults } from "../support/fuzz/registry-verdict.ts";
import { anonymous, digestOf, newRepository } from "../support/registry.ts";
import { expectExactBytes, expectExactObjects, weeksLater } from "../support/registry-audit.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newClient, newUser } from "../support/world.ts";

const SEED = 20_261_126;
const REQUESTS = 4_000;
const AT_ONCE = 8;

beforeAll(stopClock);
afterAll(startClock);

const own = await newRepository();
const second = await newRepository();
await second.pushImage();
await second.client.ok("PATCH", `/v1/models/${second.name}`, { visibility: "public" });
const hidden = await newRepository();
await hidden.pushImage();

const known: Known = {
  // Most requests go to the first repository.
  names: Array<string>(16)
    .fill(own.name)
    .concat(
      `${own.username}/other`,
      second.name,
      hidden.name,
      "nobody/nothing",
      `${own.username}/Upper`,
      `${own.username}/${"x".repeat(200)}`,
      "x/%2e%2e",
    ),
  locations: [],
};

const callers: Client[] = [
  own.client,
  second.client,
  await newClient(own.username, { scopes: ["read"] }),
  await newClient(own.username, { scopes: ["predict"] }),
  (await newUser()).client,
  anonymous,
  new Client("anonymous"),
  new Client("aus_wrong"),
  new Client("a.b.c.d"),
];

const faults: string[] = [];
/** The combinations that occurred, as `method kind status`. */
const seen = new Set<string>();

async function send({ method, path, query, headers, body, caller }: RegistryPlan): Promise<void> {
  const client = callers[caller] ?? anonymous;
  const search = new URLSearchParams(query).toString();
  const url = `${path(known)}${search && `?${search}`}`;
  const sent = ["GET", "HEAD"].includes(method) ? null : body();
  const response = await client.fetch(url, { method, headers, body: sent, redirect: "manual" });
  const location = response.headers.get("location");
  if (location?.includes("/uploads/")) known.locations.push(location);
  const text = await response.arrayBuffer().then((bytes) => new TextDecoder().decode(bytes));
  const [, kind] =
    /\/(uploads|(?:blobs|manifests|tags|referrers)(?=\/(?!uploads)))/.exec(url) ?? [];
  seen.add(`${method} ${kind} ${response.status}`);
  for (const fault of faultsOf(method, response, text))
    faults.push(`${fault}: ${method} ${url} ${JSON.stringify(headers)} ${caller}
      ${response.status} ${text.slice(0, 500)}`);
}

function* faultsOf(method: string, { status, headers }: Response, text: string) {
  yield* registryFaults({ status, headers, text });
  if (method === "HEAD" && text !== "") yield "HEAD with a body";
  if (!headers.get("x-request-id")) yield "no x-request-id";
  if (/D1_ERROR|SQLITE|^\s+at \S+ \(/m.test(text)) yield "shows its inside";
  if (callers.some(({ token }) => token && token.length > 20 && text.includes(token)))
    if (!text.includes('"access_token"')) yield "shows a token";
  if (status === 401 && !headers.get("www-authenticate")?.startsWith("Bearer realm="))
    yield "401 without a challenge";
  if (status === 405 && !headers.get("allow")) yield "405 without Allow";
  if (status >= 400 && headers.get("cache-control") !== "no-store") yield "a cacheable error";
}

test(`${REQUESTS} random requests have valid answers`, { timeout: 180_000 }, async () => {
  const plans = fc
    .sample(registryPlans(callers.length), { numRuns: REQUESTS, seed: SEED })
    .values();
  const worker = async () => {
    for (const plan of plans) await send(plan);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(faults).toEqual([]);
});

test("random requests reach all kinds of answers", () => {
  const wanted = [
    ...["POST uploads 201", "POST uploads 202", "PATCH uploads 202", "PATCH uploads 416"],
    ...["PUT uploads 201", "PUT uploads 400", "DELETE uploads 204", "GET uploads 204"],
    ...["GET blobs 200", "GET blobs 206", "HEAD blobs 200"],
    ...["DELETE blobs 202", "DELETE blobs 409", "PUT manifests 201", "PUT manifests 404"],
    ...["GET manifests 200", "HEAD manifests 200", "DELETE manifests 202", "GET tags 200"],
    ...["GET referrers 200", "PUT manifests 400", "GET manifests 401", "PUT manifests 403"],
  ];
  expect(wanted.filter((one) => !seen.has(one))).toEqual([]);
});

test("random requests leave other users' images unchanged, and no garbage", async () => {
  for (const repository of [second, hidden]) {
    const read = await repository.send("GET", "manifests/latest");
    expect(read.headers.get("docker-content-digest")).toBe(digestOf(await read.text()));
  }
  await weeksLater();
  await expectExactObjects();
  await expectExactBytes();
});
