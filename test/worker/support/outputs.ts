/** Output of runs whose webhooks tell of it. */
import type { WebhookEvent } from "../../../src/protocol/webhook.ts";
import { script } from "./receiver.ts";
import { passes } from "./time.ts";
import { expectNoMoreThan, redeliver, settled, type Watched, watched } from "./webhooks.ts";

export const delivered = (count: number) => Array<string>(count).fill("delivered");

/** Waits until the ledger has `events` events, all delivered. */
export async function tell({ client, id }: Pick<Watched, "client" | "id">, events: number) {
  await passes(0.5, id);
  return settled(client, id, ...delivered(events));
}

/** Has one of `events` events redelivered. */
export async function again(
  { client, id }: Watched,
  event: WebhookEvent | undefined,
  events: number,
) {
  await redeliver(client, id, event?.id);
  await passes(0, id);
  return settled(client, id, ...delivered(events));
}

export const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => `${first + n}`);

/** Makes a receiver that has asked for 100 s. */
export async function putOff() {
  const one = await watched({ events: ["output", "completed"] });
  const wait = { status: 429, headers: { "retry-after": "100" } };
  await script(one.path, wait, { status: 200 });
  await one.channel.output("0");
  await settled(one.client, one.id, "pending");
  return one;
}

/** Adds output in rounds of 25 s, because a runner that is silent for 30 s is lost. */
export async function goOn({ client, path, id, channel }: Watched, rounds: number) {
  for (let round = 1; round <= rounds; round++) {
    await channel.output(`${round}`);
    await passes(25, id);
    const before = Array<string>(round).fill("superseded");
    await settled(client, id, ...before, "planned");
    await expectNoMoreThan(path, 1);
  }
}
