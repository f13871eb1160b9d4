/** A private model's answers to strangers, which equal those of a model that does not exist. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MODEL_HEADER } from "../../../src/protocol/registry.ts";
import { sized } from "../../support/sized.ts";
import { Client } from "../support/client.ts";
import { DASHBOARD_ROUTES } from "../support/dashboard-routes.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { ENDPOINT_ACCESS } from "../support/endpoint-access.ts";
import { insertExample } from "../support/examples.ts";
import { digestOf, Repository } from "../support/registry.ts";
import { startClock, stopClock } from "../support/time.ts";
import { Visitor } from "../support/visitor.ts";
import { newUser } from "../support/world.ts";

// Cached entries do not expire while the clock stands, however long the requests take.
beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const BYTES = new TextEncoder().encode("x");
const DIGEST = digestOf(BYTES);

/** Returns names of equal length, so that answers have equal lengths too. */
const newName = () => `story-${crypto.randomUUID().slice(0, 8)}`;

const { client: owner, username } = await newUser();
const stranger = await newDashboardUser();
const nobody = new Client(undefined);
const anonymous = new Visitor();

interface Model {
  name: string;
  id: string;
  example: string;
}

/** Sends one request of a stranger about a model. */
type Ask = (model: Model) => Promise<Response>;

const apiOf = (client: Client, key: string): Ask => {
  const [method = "", path = ""] = key.split(" ");
  const body = ENDPOINT_ACCESS[key]?.body;
  return ({ name, example }) => {
    const place = { model_owner: username, model_name: name, model: `${username}/${name}` };
    const whole = { ...place, version_number: "1", variable_name: "KEY", example_id: example };
    const filled = path.replace(/:(\w+)/g, (_, key: keyof typeof whole) =>
      encodeURIComponent(whole[key] ?? "1"),
    );
    return client.fetch(filled, { method, ...(body && { body: JSON.stringify(body(whole)) }) });
  };
};

const pageOf = (visitor: Visitor, key: string): Ask => {
  const [method = "", path = ""] = key.split(" ");
  return ({ name, example }) => {
    const filled = path
      .replace(/\{.*?\}/g, "")
      .replace(":owner", username)
      .replace(":name", name)
      .replace(":number", "1")
      .replace(":example", example)
      .replace(/:\w+/g, "KEY");
    return method === "GET"
      ? visitor.fetch(filled, { headers: { accept: "text/html" } })
      : visitor.fetch(filled, {
          method,
          headers: { accept: "text/html", origin: "https://auspex.test" },
          body: new URLSearchParams({ form_token: visitor.formToken }),
        });
  };
};

const registryOf = (
  client: Client,
  key: string,
  headers: (model: Model) => Record<string, string> = () => ({}),
): Ask => {
  const [method = "", path = ""] = key.split(" ");
  return (model) =>
    new Repository(client, `${username}/${model.name}`).send(method, path, {
      headers: headers(model),
      ...(/PUT|PATCH/.test(method) && { body: BYTES }),
    });
};

const REGISTRY = [
  "GET tags/list",
  "GET manifests/latest",
  "HEAD manifests/latest",
  `GET manifests/${DIGEST}`,
  `GET referrers/${DIGEST}`,
  `GET blobs/${DIGEST}`,
  `HEAD blobs/${DIGEST}`,
  "PUT manifests/latest",
  "DELETE manifests/latest",
  `DELETE manifests/${DIGEST}`,
  `DELETE blobs/${DIGEST}`,
  "POST blobs/uploads/",
  `POST blobs/uploads/?digest=${DIGEST}`,
  `POST blobs/uploads/?mount=${DIGEST}&from=none/none`,
  "GET blobs/uploads/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  "PATCH blobs/uploads/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  `PUT blobs/uploads/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e?digest=${DIGEST}`,
  "DELETE blobs/uploads/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
];

const OPENAI =
  /vendora\/(?:chat|completions|embeddings|audio|images|moderations|rerank|responses)$/;

/** Requests without a token show less than those of a stranger: their answers are compared at night. */
const asNobody = (ask: [string, Ask]): [string, Ask][] => sized([], [ask]);

const ASKS: [string, Ask][] = [
  ...Object.keys(ENDPOINT_ACCESS)
    .filter((key) => /model_name|models\/:model\b/.test(key) || OPENAI.test(key))
    .concat("POST /v1/predictions")
    .flatMap((key): [string, Ask][] => [
      [key, apiOf(stranger.client, key)],
      ...asNobody([`${key}, nobody`, apiOf(nobody, key)]),
    ]),
  ...Object.keys(DASHBOARD_ROUTES)
    .filter((key) => key.includes(":owner/:name"))
    .flatMap((key): [string, Ask][] => [
      [`page ${key}`, pageOf(stranger.visitor, key)],
      ...asNobody([`page ${key}, nobody`, pageOf(anonymous, key)]),
    ]),
  ...REGISTRY.flatMap((key): [string, Ask][] => [
    [`registry ${key}`, registryOf(stranger.client, key)],
    ...asNobody([`registry ${key}, nobody`, registryOf(nobody, key)]),
    [
      `registry ${key}, by id`,
      registryOf(stranger.client, key, ({ id }) => ({ [MODEL_HEADER]: id })),
    ],
  ]),
];

const CHANGING =
  /^(?:date|x-request-id|request-id|x-ratelimit.*|ratelimit.*|retry-after|set-cookie)$/;

async function answerOf(ask: Ask, model: Model) {
  const counted = { statements: 0, calls: 0 };
  const spies = [
    vi.spyOn(env.DB, "prepare").mockName("statements"),
    ...Object.values(env).flatMap((binding: unknown) =>
      typeof binding === "object" && binding !== null && "idFromName" in binding
        ? (["get", "getByName"] as const).map((name) =>
            vi.spyOn(binding as DurableObjectNamespace, name).mockName("calls"),
          )
        : [],
    ),
  ];
  const response = await ask(model);
  const body = await response.text();
  for (const spy of spies) {
    counted[spy.getMockName() === "statements" ? "statements" : "calls"] += spy.mock.calls.length;
    spy.mockRestore();
  }
  const same = (text: string) =>
    text
      .replaceAll(model.name, "NAME")
      .replaceAll(model.id, "ID")
      .replaceAll(model.example, "EXAMPLE")
      .replaceAll(/nonce-?="?[\w+/=-]+/g, "NONCE")
      .replaceAll(response.headers.get("x-request-id") ?? "NONE", "REQUEST");
  const headers = [...response.headers].filter(([name]) => !CHANGING.test(name));
  return {
    status: response.status,
    headers: same(JSON.stringify(headers)),
    body: same(body),
    ...counted,
  };
}

test("a stranger cannot tell a private model from none, by any answer or by its look-ups", async () => {
  await stranger.visitor.look("/");
  await anonymous.look("/");
  const hidden = newName();
  const { id } = await owner.ok<{ id: string }>("POST", "/v1/models", { name: hidden });
  await new Repository(owner, `${username}/${hidden}`).pushImage();
  const example = await insertExample(id);
  const absent = () => ({ name: newName(), id: crypto.randomUUID(), example: crypto.randomUUID() });
  const told: unknown[] = [];
  const wanted: unknown[] = [];
  // Tokens and users are cached from here on.
  for (const [, ask] of ASKS.slice(0, 2)) await answerOf(ask, absent());
  for (const [what, ask] of ASKS) {
    told.push([what, await answerOf(ask, { name: hidden, id, example })]);
    wanted.push([what, await answerOf(ask, absent())]);
  }
  expect(told).toEqual(wanted);
});
