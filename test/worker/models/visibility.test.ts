/** Access to every endpoint, for every caller, on models of every visibility. */

import { expect, onTestFinished, test } from "vitest";
import { app } from "../../../src/app.ts";
import { DEFAULT_SCOPES } from "../../../src/protocol/operator.ts";
import { sized } from "../../support/sized.ts";
import { newAlert } from "../support/alerts.ts";
import { makeBackup, withKey, withoutKey } from "../support/backups.ts";
import { newBudget } from "../support/budgets.ts";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { newDeployment } from "../support/deployments.ts";
import { callEndpoint, ENDPOINT_ACCESS, type EndpointAccess } from "../support/endpoint-access.ts";
import {
  newConversation,
  newResponse,
  newUploads,
  newWebhooks,
} from "../support/endpoint-places.ts";
import { insertExample } from "../support/examples.ts";
import { fileUrl, uploaded } from "../support/files.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { type Case, endpointsFor, MODEL_CALLERS } from "../support/model-callers.ts";
import { OPERATOR_ENDPOINTS } from "../support/operator-endpoints.ts";
import {
  lapse,
  newOrganization,
  requireFactor,
  setRole,
  setShare,
} from "../support/organizations.ts";
import { sweep } from "../support/queues.ts";
import { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { setVariable } from "../support/variables.ts";
import {
  newClient,
  newOperatorUser,
  newRunnerToken,
  newUser,
  newWorld,
  operator,
  unique,
} from "../support/world.ts";

const nobody = new Client(undefined);
const VARIABLE = "HF_TOKEN";

/** A test of hundreds of calls took more than a minute on a machine with a load of 20. */
const LONG = 600_000;

test("the tables of access name every endpoint", () => {
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && path.startsWith("/v1/"))
    .filter(({ path }) => !path.startsWith("/v1/runner/") && path !== "/v1/openapi.json")
    .map(({ method, path }) => `${method} ${path}`);
  const named = [...Object.keys(ENDPOINT_ACCESS), ...Object.keys(OPERATOR_ENDPOINTS)];
  expect(named.sort()).toEqual([...new Set(routes)].sort());
});

test.each(MODEL_CALLERS)(
  "a $visibility model gives the statuses of ENDPOINT_ACCESS to $callers",
  { timeout: LONG },
  async ({ visibility, cases }) => {
    const options = { visibility, compatibilities: { vendora_responses: true } };
    const owning = cases[0]?.role && (await newOrganization(options));
    const world = owning ?? (await newWorld(options));
    const { username } = world;
    const begun = await world.begun();
    await begun.channel.succeed("out");
    begun.channel.close();
    const prediction_id = await world.waiting();
    // The endpoints that delete get a model without running predictions.
    const idle = await newModel(world.client, { visibility });
    await publish(world.client, `${username}/${idle.name}`);
    await setVariable(world.client, `${username}/${idle.name}`, VARIABLE);
    const example_id = await insertExample(idle.id);
    const { pending, whole } = await newUploads(world.client);
    const response = {
      ...(await newResponse(world.client, world.model)),
      ...(await newConversation(world.client)),
    };
    const { told_id = "", ...webhooks } = await newWebhooks(world.client, world.model);
    const { username: account, ...friend } = await newUser();
    await setShare(referenceOf(idle), friend, "run");
    const other = await newModel(world.client);
    const limited = await newClient(username, { models: [referenceOf(other)] });
    const withScopes = new Map<string, Client>();

    /** Returns the client of a caller for each endpoint. */
    const clientsOf = async ({ caller, role }: Case) => {
      const stranger = await newUser();
      if (caller.startsWith("a collaborator"))
        for (const model of [world.model, referenceOf(idle)])
          await setShare(model, stranger, caller.endsWith("write") ? "write" : "run");
      const acting = role && (await owning?.join(role));
      const service = role && (await owning?.service(role));
      if (owning && acting && caller === "a removed member's token")
        await setRole(owning, acting, undefined);
      if (owning && acting && caller === "an OIDC member's token whose group is gone")
        await lapse(owning, acting);
      if (owning)
        await requireFactor(
          owning,
          caller === "the token of a member without the required second factor",
        );
      return async ({ scopes }: EndpointAccess): Promise<Client> => {
        if (caller === "a service token") return service ?? nobody;
        if (acting) return acting.client;
        if (caller === "nobody") return nobody;
        if (caller === "a stranger" || caller.startsWith("a collaborator")) return stranger.client;
        if (caller === "the owner") return world.client;
        if (caller === "a token for another model") return limited;
        const others = DEFAULT_SCOPES.filter((one) => !scopes.includes(one));
        const made =
          withScopes.get(others.join()) ?? (await newClient(username, { scopes: others }));
        withScopes.set(others.join(), made);
        return made;
      };
    };
    const deployed = await newDeployment(world.client, { model: world.model });
    const organization = owning ? username : unique("org");
    if (!owning) await world.client.ok("POST", "/v1/organizations", { username: organization });
    const place = {
      username: owning ? (await owning.join("member")).username : username,
      organization,
      invitation_id: crypto.randomUUID(),
      token_id: crypto.randomUUID(),
      model_owner: username,
      version_number: "1",
      variable_name: VARIABLE,
      account,
      example_id,
      deployment_owner: username,
      deployment_name: deployed.name,
      budget_id: (await newBudget(world.client, { limit: "1000000" })).id,
    };
    const idFor = (key: string) => {
      if (key.includes("/webhooks")) return told_id;
      return key.endsWith("/examples") ? begun.id : prediction_id;
    };
    // A stranger's request for a young prediction would wait for its row (services/predictions/predictions.ts).
    stopClock();
    onTestFinished(() => void startClock());
    advance(11);
    for (const one of cases) {
      const clientFor = await clientsOf(one);
      const asked = endpointsFor(one);
      const found: [string, number][] = [];
      for (const [key, endpoint] of asked) {
        const isOfIdle = key.startsWith("DELETE") || key.includes("example_id");
        const model_name = isOfIdle ? idle.name : "story";
        const uploads = key.endsWith("/complete") ? whole : pending;
        const id = idFor(key);
        const client = await clientFor(endpoint);
        const { status } = await callEndpoint(
          client,
          key,
          { ...place, ...uploads, ...response, ...webhooks, prediction_id: id, model_name },
          endpoint,
        );
        found.push([key, status]);
      }
      const statuses = asked.map(([key, endpoint]) => [key, one.expected(endpoint, key)]);
      expect({ caller: one.caller, found }).toEqual({ caller: one.caller, found: statuses });
    }
  },
);

test("a private model's answers to a stranger equal those of a missing model, to the byte", {
  timeout: LONG,
}, async () => {
  const { client, username } = await newUser();
  const { client: stranger } = await newUser();
  const model_name = unique("hidden");
  const place = {
    username,
    organization: model_name,
    invitation_id: crypto.randomUUID(),
    token_id: crypto.randomUUID(),
    model_owner: username,
    model_name,
    version_number: "1",
    variable_name: VARIABLE,
    example_id: crypto.randomUUID(),
    prediction_id: crypto.randomUUID(),
    budget_id: crypto.randomUUID(),
    deployment_owner: username,
    deployment_name: unique("deployment"),
  };
  const lists = [
    "GET /v1/models?sort_by=predictions_count",
    "GET /v1/models?category_slugs=chat",
    "GET /v1/models/:model_owner?sort_by=predictions_count&category_slugs=chat",
    `GET /v1/search/models?q=${model_name}`,
    `GET /v1/search/users?q=${model_name}`,
  ].map((key): [string, Pick<EndpointAccess, "body">] => [key, {}]);
  const answers = async () => {
    // The stranger's audit log grows with each of their own exports, and is in the export.
    const all = Object.entries(ENDPOINT_ACCESS).filter(
      ([key]) =>
        !/prediction_id|audit_events|user\/export|response_id|^POST \/v1\/(?:models|organizations|uploads|budgets|client_tokens|webhook-endpoints|vendora\/conversations)$/.test(
          key,
        ),
    );
    const given: [string, unknown][] = [];
    // absent.test.ts asks for one model: this test asks by day for what may list it.
    const listing = all.filter(([key]) => /^GET (?!.*:model\b|.*:model_name)/.test(key));
    for (const caller of sized([stranger], [nobody, stranger])) {
      for (const [key, endpoint] of [...sized(listing, all), ...lists])
        given.push([key, JSON.stringify(await callEndpoint(caller, key, place, endpoint))]);
    }
    return given;
  };
  await sweep();
  const before = await answers();
  await newModel(client, { name: model_name, category_slugs: ["chat"], description: model_name });
  await publish(client, `${username}/${model_name}`);
  await client.create({ model: `${username}/${model_name}`, input: {} });
  await sweep();
  expect(await answers()).toEqual(before);
});

test("a model that is made private can at once neither be read nor run by others", async () => {
  const world = await newWorld({ visibility: "public" });
  const stranger = await world.stranger();
  const statuses = async (client: Client) => {
    const run = { model: world.model, input: {} };
    const read = await client.json("GET", `/v1/models/${world.model}`);
    return [read.status, (await client.refused("/v1/predictions", run)).status];
  };
  expect(await statuses(stranger)).toEqual([200, 202]);
  await world.client.ok("PATCH", `/v1/models/${world.model}`, { visibility: "private" });
  expect(await statuses(stranger)).toEqual([404, 404]);
  expect(await statuses(world.client)).toEqual([200, 202]);
});

test("a signed address of a file works for any caller, for that file alone", async () => {
  const { client, username } = await newUser();
  const [one, other] = [fileUrl(await uploaded(client, "one")), fileUrl(await uploaded(client))];
  const swapped = other.replace(/\?.*/, "") + one.replace(/.*(?=\?)/, "");
  const { client: stranger } = await newUser();
  const writer = await newClient(username, { scopes: ["write"] });
  for (const caller of [nobody, stranger, writer]) {
    expect(await (await caller.fetch(one)).text()).toBe("one");
    expect((await caller.json("GET", swapped)).status).toBe(403);
  }
});

const OPERATORS = ["an operator's token", "OPERATOR_TOKEN"] as const;

// Most tests are operators by OPERATOR_TOKEN.
test.each(OPERATORS.slice(0, sized(1, OPERATORS.length)))(
  "operator endpoints accept %s and refuse other tokens",
  async (kind) => {
    const appointed = await newOperatorUser();
    const admitted = kind === "OPERATOR_TOKEN" ? operator : appointed.client;
    const demoted = await newOperatorUser();
    await operator.ok("DELETE", `/v1/operator/users/${demoted.username}/operator`);
    const { client, username: given_up } = await newUser();
    const { username } = await client.ok<{ username: string }>("PATCH", "/v1/user", {
      username: unique("renamed"),
    });
    const hardware = unique("hw");
    await operator.ok("PUT", `/v1/operator/hardware/${hardware}`, { name: "x" });
    const runner = await FakeRunner.begin(await newRunnerToken(hardware), hardware, "box");
    // Only a runner that has stopped can be removed.
    await runner.tell({ state: "stopped" });
    const newId = async (path: string, body: object) =>
      (await operator.ok<{ id: string }>("POST", `/v1/operator/${path}`, body)).id;
    withKey();
    onTestFinished(withoutKey);
    const backup_id = await makeBackup(60_000);
    const organization = unique("org");
    const lead = await newUser();
    await lead.client.ok("POST", "/v1/organizations", { username: organization });
    const place = {
      username,
      organization,
      lead: lead.username,
      slug: "weather",
      identifier: unique("hw"),
      runner_id: runner.id,
      action: "drain",
      token_id: await newId(`users/${username}/tokens`, { name: "x" }),
      budget_id: await newId(`users/${username}/budgets`, { limit: "1", window: "week" }),
      alert_id: await newAlert(),
      backup_id,
      part_number: "0",
    };
    const runner_token_id = await newId("runner_tokens", { name: "x", hardware: ["cpu"] });
    const other = await newWorld();
    const prediction_id = await other.waiting();
    for (const [key, endpoint] of Object.entries(OPERATOR_ENDPOINTS)) {
      const token_id = key.includes("runner_tokens") ? runner_token_id : place.token_id;
      const theirs = key.includes("predictions") ? other.username : place.username;
      const username = key.includes("usernames") ? given_up : theirs;
      const version = { model_owner: other.username, model_name: "story", version_number: "1" };
      const named = { ...place, ...version, username, token_id, prediction_id };
      const statusFor = async (caller: Client) =>
        (await callEndpoint(caller, key, named, endpoint)).status;
      const statuses: number[] = [];
      // `kind` makes no difference to those who are refused, so they try once.
      const refused = kind === OPERATORS[0] ? [nobody, lead.client, demoted.client] : [];
      // A runner that has stopped sends no log: the 3 s that it has for it pass at once.
      const passing = /^POST .*\/log$/.test(key) ? setInterval(holdTimers(3_000), 5) : null;
      for (const caller of [...refused, admitted]) statuses.push(await statusFor(caller));
      clearInterval(passing);
      const refusals = [401, 403, 403].slice(0, refused.length);
      expect([key, ...statuses]).toEqual([key, ...refusals, endpoint.status ?? 200]);
    }
  },
);

test("endpoints of users refuse OPERATOR_TOKEN", async () => {
  const place = { username: unique("user"), slug: "weather", token_id: crypto.randomUUID() };
  for (const [key, endpoint] of Object.entries(ENDPOINT_ACCESS))
    expect([key, (await callEndpoint(operator, key, place, endpoint)).status]).toEqual([key, 401]);
});
