/**
 * Webhooks with receivers that fail in each way there is, and a control plane that is killed with -9 again
 * and again. `SEED=n` repeats a run but for its clocks.
 */
import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { seed as seedUser } from "../../src/dev/seed.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import {
  createdEndpointSecret,
  createdWebhookEndpoint,
  type WebhookEvent,
  type WebhookEventName,
} from "../../src/protocol/webhook.ts";
import type { Received } from "../receiver/exchange.ts";
import { Receiver } from "../receiver/receiver.ts";
import { USERNAME } from "./support/access.ts";
import type { Runner } from "./support/runner.ts";
import {
  type Ask,
  asksOf,
  ELSEWHERE,
  eventIdOf,
  FAULT_VARIABLES,
  faultsOf,
  historyOf,
  isRead,
  killsOf,
  newText,
} from "./support/webhook-faults.ts";
import { leaksIn, listen, Witness } from "./support/webhook-leaks.ts";
import { deliveryIn, ledgerWith } from "./support/webhook-ledger.ts";
import { expectSigned } from "./support/webhook-signatures.ts";
import { World } from "./support/world.ts";

const SEED = Number(process.env.SEED ?? randomInt(2 ** 31));
const PREDICTIONS = 210;
const AT_ONCE = 8;
const KILLS = 6;
/** The number of requests after which an endpoint no longer fails. */
const ILL = 150;
const SLOTS = 32;
/**
 * Patience for six restarts of workerd, of up to 20 s each on a busy machine, and all failed tries between
 * them.
 */
const SETTLED_MS = 180_000;

/** A receiver of a prediction's events. */
interface Target {
  endpointId: string | null;
  path: string;
  events: WebhookEventName[];
  secrets: string[];
}

interface Made extends Ask {
  id: string;
  client: Witness;
  targets: Target[];
}

const lines = listen();
let world: World;
let runner: Runner;
/** Two receivers: one that stays up, and one that is down altogether for a while. */
let receiver: Receiver;
let shaky: Receiver;
/** Requests that came to the second receiver before it went down. */
const before: Received[] = [];
/** Users with endpoints, and without. */
let ada: Witness;
let bob: Witness;
const secrets: string[] = [];

beforeAll(async () => {
  [receiver, shaky] = await Promise.all([Receiver.open(), Receiver.open()]);
  world = await World.open({ variables: FAULT_VARIABLES });
  runner = await world.runner("one", { slots: SLOTS });
  const { url, token } = world.access;
  const other = await seedUser(world.operator, "bob");
  ada = new Witness(url, token);
  bob = new Witness(url, other.token);
  secrets.push(token, other.token);
});
afterAll(async () => {
  await world.close();
  await Promise.all([receiver.close(), shaky.close()]);
});

/** Creates an endpoint with a client that is no `Witness`: only the answers of this call have a secret. */
async function endpoint(url: string, path: string, events: WebhookEventName[]): Promise<Target> {
  const body = { url: url + path, events };
  const { id, secret } = await world.client.call(
    createdWebhookEndpoint,
    "POST",
    "/webhook-endpoints",
    { body },
  );
  return { endpointId: id, path, events, secrets: [secret] };
}

async function rotate({ endpointId, secrets }: Target): Promise<void> {
  const path = `/webhook-endpoints/${endpointId}/secrets`;
  const { secret } = await world.client.call(createdEndpointSecret, "POST", path);
  secrets.push(secret);
}

async function make(ask: Ask, n: number, endpoints: Target[]): Promise<Made> {
  const { audience, streams, secret, events, faults } = ask;
  const client = audience === "own" ? bob : ada;
  const targets = audience === "own" ? [] : [...endpoints];
  const body: Record<string, unknown> = streams
    ? { model: `${USERNAME}/text-generation`, input: { max_tokens: 20, delay_ms: 50, seed: n } }
    : { model: `${USERNAME}/hello`, input: { name: `${n}` } };
  if (audience !== "endpoints") {
    const path = `/own/${n}`;
    const key = newText();
    receiver.script(path, [...faults, { status: 200 }]);
    body.webhook = { url: `${receiver.url}${path}?key=${key}`, secret, events };
    secrets.push(key, ...(secret ? [secret] : []));
    targets.push({
      endpointId: null,
      path,
      events: events ?? ["started", "completed"],
      secrets: secret ? [secret] : [],
    });
  }
  const headers = { "idempotency-key": randomUUID() };
  const { id } = await client.call(predictionWithIO, "POST", "/predictions", { body, headers });
  return { ...ask, id, client, targets };
}

async function makeAll(asks: Ask[], endpoints: Target[]): Promise<Made[]> {
  const made: Made[] = [];
  const queue = asks.entries();
  const worker = async () => {
    for (const [n, ask] of queue) made.push(await make(ask, n, endpoints));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return made;
}

/** Kills the control plane repeatedly: each time after so many requests to a receiver, and when it is up. */
async function killAgainAndAgain({ path }: Target, last: number): Promise<void> {
  for (const { after, ms } of killsOf(SEED, KILLS, last)) {
    await receiver.waitFor(path, after);
    await sleep(ms);
    await bob.fetch("GET", "/hardware");
    world.killControlPlane();
  }
  await bob.fetch("GET", "/hardware");
}

/** Closes the port of an endpoint for as long as it takes for two tries of one event to be refused. */
async function outage({ path, endpointId }: Target): Promise<void> {
  await shaky.waitFor(path, 20);
  const { port } = shaky;
  await shaky.close();
  before.push(...shaky.received);
  const body = { model: `${USERNAME}/hello`, input: { name: "outage" } };
  const headers = { "idempotency-key": randomUUID() };
  const { id } = await ada.call(predictionWithIO, "POST", "/predictions", { body, headers });
  const refused = await ledgerWith(
    ada,
    id,
    (events) => {
      const { delivery } = deliveryIn(events, "started", endpointId);
      expect(delivery.attempts.filter(({ error }) => error).length).toBeGreaterThan(1);
    },
    SETTLED_MS,
  );
  expect(deliveryIn(refused, "started", endpointId).delivery.attempts[0]?.status).toBeNull();
  shaky = await Receiver.open(port);
}

/** Waits until all required events are delivered, and all events that may be left out are settled. */
function settled({ client, id, targets }: Made): Promise<WebhookEvent[]> {
  return ledgerWith(
    client,
    id,
    (events) => {
      for (const { endpointId, events: wanted } of targets) {
        for (const name of wanted) {
          // An output that ends too soon afterwards has no event of its own.
          if (name === "output" && wanted.includes("completed")) continue;
          const states = events
            .filter(({ event }) => event === name)
            .flatMap(({ deliveries }) => deliveries)
            .filter(({ endpoint_id }) => endpoint_id === endpointId)
            .map(({ state }) => state);
          expect(states).toContain("delivered");
        }
      }
      const left = events.flatMap(({ deliveries }) => deliveries.map(({ state }) => state));
      expect(left.filter((state) => state === "pending")).toEqual([]);
    },
    SETTLED_MS,
  );
}

const requests = () => [...before, ...receiver.received, ...shaky.received];

const isOf = ({ id }: Made, received: Received) => eventIdOf(received).startsWith(`evt_${id}_`);

/** Checks one prediction whose ledger is settled. */
async function check(made: Made): Promise<void> {
  const resource = `/predictions/${made.id}`;
  // Some receivers do not get the end. The stream, which this client reads as a whole, has then ended.
  await made.client.fetch("GET", `${resource}/stream`);
  const full = await made.client.call(predictionWithIO, "GET", resource);
  expect(full.status, full.error?.message).toBe("succeeded");
  const ledger = await settled(made);
  for (const { path, endpointId, events: wanted, secrets } of made.targets) {
    const received = requests().filter((one) => one.path === path && isOf(made, one));
    for (const one of received.filter(isRead)) expectSigned(one, secrets);
    const history = historyOf(received);
    const names = history.map(({ webhook }) => webhook.event);
    if (wanted.includes("started"))
      expect(names.filter((name) => name === "started")).toHaveLength(1);
    if (wanted.includes("completed")) {
      const { webhook: _, data_omitted, ...prediction } = history.at(-1) ?? {};
      expect(names.at(-1)).toBe("completed");
      expect(data_omitted).toBe(false);
      expect(prediction).toEqual(full);
    }
    if (wanted.includes("output") && made.streams)
      expect(history.at(-1)?.output).toEqual(full.output);
    expect(names.filter((name) => !wanted.some((one) => one === name))).toEqual([]);
    expectWritten(ledger, endpointId, received);
  }
}

/** Checks that a try is written before it begins: no request came that the ledger does not have. */
function expectWritten(ledger: WebhookEvent[], endpointId: string | null, received: Received[]) {
  for (const [id, repeats] of Map.groupBy(received, eventIdOf)) {
    const delivery = ledger
      .find((event) => event.id === id)
      ?.deliveries.find(({ endpoint_id }) => endpoint_id === endpointId);
    expect(delivery?.attempts.length, id).toBeGreaterThanOrEqual(repeats.length);
    expect(["delivered", "superseded"]).toContain(delivery?.state);
  }
}

it(`every event arrives, signed and in an order, whatever dies (SEED=${SEED})`, {
  // The work takes 20 s, which a busy machine does ten times as slowly.
  timeout: 600_000,
}, async () => {
  const asks = asksOf(SEED, PREDICTIONS);
  const first = await endpoint(shaky.url, "/first", ["started", "completed"]);
  await rotate(first);
  const second = await endpoint(receiver.url, "/second", ["output", "completed"]);
  const endpoints = [first, second];
  secrets.push(...endpoints.flatMap((one) => one.secrets));
  shaky.script(first.path, [...faultsOf(SEED, ILL), { status: 200 }]);
  receiver.script(second.path, [...faultsOf(SEED + 1, ILL), { status: 200 }]);

  const toEndpoints = asks.filter(({ audience }) => audience !== "own").length;
  const [made] = await Promise.all([
    makeAll(asks, endpoints),
    killAgainAndAgain(second, toEndpoints),
    outage(first),
  ]);
  expect(made).toHaveLength(PREDICTIONS);
  // The ledgers are read one by one: to ask for all at once would be a load of its own.
  for (const one of made) await check(one);

  const all = requests();
  expectOneBodyOfEach(all);
  expect(all.filter(({ path }) => path === ELSEWHERE)).toEqual([]);
  for (const { method, headers } of all) {
    expect([method, headers["content-type"]]).toEqual(["POST", "application/json"]);
  }
  await expectNoLeak(all);
});

/** Checks that an event has the same body for every receiver. */
function expectOneBodyOfEach(received: Received[]): void {
  for (const [id, those] of Map.groupBy(received.filter(isRead), eventIdOf)) {
    expect(new Set(those.map(({ body }) => body)).size, id).toBe(1);
  }
}

async function expectNoLeak(received: Received[]): Promise<void> {
  for (const client of [ada, bob]) await client.fetch("GET", "/predictions?page_size=50");
  await ada.fetch("GET", "/webhook-endpoints");
  const posted = received.map(({ body, headers }) => body + JSON.stringify(headers));
  // Each kill was logged, so this console does get the lines of workerd.
  const said = lines();
  expect(said.filter((line) => line.includes("crashed unexpectedly"))).toHaveLength(KILLS);
  expect(runner.lines).not.toEqual([]);
  expect(leaksIn([...said, ...runner.lines], secrets)).toEqual([]);
  expect(leaksIn([...ada.answers, ...bob.answers], secrets)).toEqual([]);
  expect(leaksIn(posted, secrets)).toEqual([]);
}
