/**
 * Transient errors of the platform at each call of an endpoint, before and after the call has taken effect: nothing is
 * lost or done twice. Work that no endpoint starts is in test/worker/transient-errors.
 */
import { describe, expect, test } from "vitest";
import { askedAgain } from "../support/asked-again.ts";
import type { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { type Failure, failing } from "../support/failing.ts";
import { bytesOf, keysBelow } from "../support/files.ts";
import type { FakeRunner } from "../support/runner.ts";
import { newWorld, unique, type World } from "../support/world.ts";

/** One message of each kind; errors.test.ts has all messages of the platform. */
const MESSAGES = [
  "Durable Object reset because its code was updated.",
  "Durable Object is overloaded. Too many requests queued.",
];

interface Operation {
  name: string;
  /** Makes what the operation needs, before anything fails. */
  prepare?: (world: World) => Promise<string>;
  act: (client: Client, world: World, made: string) => Promise<Response>;
  /** Checks the result after the operation was repeated until it succeeded. */
  check?: (world: World, made: string) => Promise<void>;
  /** The calls fail before (`false`) or after (`true`) they take effect: both by default. */
  isDone?: boolean[];
}

const picture = `data:image/png;base64,${bytesOf(150_000).toBase64()}`;

const runners = new WeakMap<World, FakeRunner>();

const create = ({ model }: World, headers?: Record<string, string>) => ({
  body: { model, input: { prompt: "on" } },
  headers,
});

async function listed({ client }: World): Promise<{ id: string; status: string }[]> {
  return (await client.ok<{ items: { id: string; status: string }[] }>("GET", "/v1/predictions"))
    .items;
}

const OPERATIONS: Operation[] = [
  {
    name: "create under a key",
    prepare: async () => unique("key"),
    act: (client, world, key) => {
      const { body, headers } = create(world, { "idempotency-key": key });
      return client.post("/v1/predictions", body, headers);
    },
    check: async (world) => {
      // One prediction is pending; one whose create failed may be canceled.
      await eventually(async () => {
        const live = (await listed(world)).filter(({ status }) => status === "pending");
        expect(live).toHaveLength(1);
      });
    },
  },
  {
    name: "cancel",
    prepare: (world) => world.waiting(),
    act: (client, _, id) => client.post(`/v1/predictions/${id}/cancel`, ""),
    check: async ({ client }, id) => expect(await client.status(id)).toBe("canceled"),
  },
  {
    name: "create with a picture",
    prepare: async () => unique("key"),
    act: (client, { model }, key) =>
      client.post("/v1/predictions", { model, input: { picture } }, { "idempotency-key": key }),
    check: async (world) => {
      await eventually(async () => {
        const live = (await listed(world)).filter(({ status }) => status === "pending");
        expect(live).toHaveLength(1);
        expect(await keysBelow(live[0]?.id)).toHaveLength(1);
      });
    },
  },
  {
    name: "stream",
    prepare: async (world) => {
      const id = await world.waiting();
      await world.client.cancel(id);
      return id;
    },
    act: (client, _, id) => client.stream(id),
  },
  {
    name: "create that is followed",
    act: async (client, world) => {
      const { body } = create(world);
      const response = await client.post("/v1/predictions", { ...body, stream: true });
      // The prediction has begun and goes on after its reader leaves.
      if (response.status === 200) await response.body?.cancel();
      return response.status === 200 ? new Response() : response;
    },
  },
  {
    name: "deletion",
    prepare: async (world) => {
      const id = await world.waiting();
      await world.client.cancel(id);
      return id;
    },
    // The second deletion may be a 404.
    act: (client, _, id) => client.fetch(`/v1/predictions/${id}`, { method: "DELETE" }),
  },
  {
    name: "poll of a runner",
    prepare: async (world) => {
      runners.set(world, await world.runner());
      return world.waiting();
    },
    act: (_, world) => runners.get(world)?.poll() ?? Promise.reject(new Error("no runner")),
    // A job whose answer was lost is handed out again after `CONNECT_SECONDS`.
    isDone: [false],
  },
];

describe.each(OPERATIONS)("$name", ({ prepare, act, check, isDone = [false, true] }) => {
  test.each(MESSAGES)('an operation succeeds despite "%s"', async (message) => {
    const platform = failing();
    const run = async (nth = 0, failure?: Failure) => {
      const world = await newWorld();
      const made = (await prepare?.(world)) ?? "";
      platform.begin((call) => (call === nth ? failure : undefined));
      const statuses = await askedAgain(async () => {
        const response = await act(world.client, world, made);
        await response.text();
        return response;
      });
      const calls = platform.calls();
      platform.end();
      expect(statuses.at(-1), `${calls[nth - 1]} of ${calls}`).toBeLessThan(500);
      await check?.(world, made);
      return calls.length;
    };
    const count = await run();
    for (let nth = 1; nth <= count; nth++)
      for (const one of isDone) await run(nth, { message, isDone: one });
  });
});
