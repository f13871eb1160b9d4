/** The consumers of the queues, while each of their platform calls fails in turn. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { CountMessage, UsageMessage, WaitingJob } from "../../../src/protocol/queue.ts";
import configuration from "../../../wrangler.toml?raw";
import { waitingJob } from "../../domain/scheduling/samples.ts";
import { atEachCall, expectFailures, LONG } from "../support/one-at-a-time.ts";
import { deliver } from "../support/queues.ts";
import { NO_COUNTS } from "../support/usage.ts";
import { newWorld, unique, type World } from "../support/world.ts";

expectFailures();

type Message = WaitingJob | CountMessage | UsageMessage;

interface Made {
  messages: Message[];
  check: () => Promise<void>;
}

const CONSUMERS: Record<string, () => Promise<Made>> = {
  /** Makes messages of two hardware classes, of which one must not wait for the other's failure. */
  async dispatch() {
    const worlds = [await newWorld(), await newWorld()];
    const messages = await Promise.all(worlds.map(lost));
    const check = async () => {
      for (const { hardware } of worlds)
        expect(await env.POOL.getByName(hardware).status()).toMatchObject({ waiting: 1 });
    };
    return { messages, check };
  },
  async counts() {
    const { user_id, client, model } = await newWorld();
    const { id: model_id } = await client.ok<{ id: string }>("GET", `/v1/models/${model}`);
    const check = async () => {
      const count = (await client.ok<{ predictions_count: number }>("GET", `/v1/models/${model}`))
        .predictions_count;
      expect(count).toBe(3);
      const usage = env.DB.prepare("SELECT predictions FROM account_usage WHERE user_id = ?");
      expect(await usage.bind(user_id).all()).toMatchObject({ results: [{ predictions: 2 }] });
    };
    const used = { user_id, day: "2026-11-20", ...NO_COUNTS, predictions: 2, told_at: 1 };
    return { messages: [{ user_id, model_id, predictions: 3 }, used], check };
  },
};

/** Returns a job whose message has not arrived. */
async function lost({ user_id, hardware, image }: World): Promise<WaitingJob> {
  const object_id = env.PREDICTION.newUniqueId().toString();
  return waitingJob({ object_id, user_id, hardware, image, container_key: unique("key") });
}

/** Spans go to a collector alone: test/worker/traces/export.test.ts. */
const NOT_HERE = ["traces"];

test("the table has every consumer", () => {
  const named = [...configuration.matchAll(/\[\[queues\.consumers]]\s*queue = "auspex-([^"]+)"/g)];
  expect(named.map(([, name]) => name).sort()).toEqual(
    [...Object.keys(CONSUMERS), ...NOT_HERE].sort(),
  );
});

test.each(["dispatch", "counts"] as const)(
  "the queue %s is consumed although each call fails in turn",
  LONG,
  async (queue) => {
    const calls = await atEachCall({
      async prepare() {
        const made = (await CONSUMERS[queue]?.()) ?? expect.fail("no row");
        return { ...made, left: made.messages };
      },
      act: (made) => arrives(queue, made),
      repeat: (made) => arrives(queue, made),
      check: async ({ check, left }) => {
        expect(left).toEqual([]);
        await check();
      },
    });
    expect(calls).not.toEqual([]);
  },
);

/** Delivers the messages that are left, and keeps those to retry. */
async function arrives(queue: "dispatch" | "counts", made: Made & { left: Message[] }) {
  if (made.left.length === 0) return;
  const { retryMessages, explicitAcks } = await deliver(queue, ...made.left);
  const retried = retryMessages.map(({ msgId }) => msgId);
  // Each message must be retried or acknowledged, since the queue counts any other as done.
  expect(retried.length + explicitAcks.length).toBe(made.left.length);
  made.left = made.left.filter((_, n) => retried.includes(`m${n}`));
}
