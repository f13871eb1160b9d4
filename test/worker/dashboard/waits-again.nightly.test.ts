/** Lists with a prediction whose runner was lost: it had started, and waits for another one. */

import { afterEach, beforeEach, expect, test } from "vitest";
import { newCustomer } from "../support/customer.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { rowOf } from "../support/objects.ts";
import { textOf } from "../support/page-text.ts";
import { passes, startClock, stopClock } from "../support/time.ts";

beforeEach(stopClock);
afterEach(startClock);

test("every list shows the wait beside the status, until another runner has started", async () => {
  const who = await newCustomer();
  const { visitor: operator } = await newOperator();
  const id = await who.waiting();
  const runner = await who.runner();
  await runner.work();
  const lists = async () => {
    const pages = await Promise.all([
      who.visitor.look("/"),
      who.visitor.look("/predictions"),
      who.visitor.look(`/predictions?model=${who.model}&statuses=started`),
      operator.look(`/users/${who.username}`),
    ]);
    const badge = /<span class="status started">.*?<\/span>(<small>.*?<\/small>)?/;
    return pages.map(({ html }) => textOf(html.match(badge)?.[0] ?? "").trim());
  };
  const say = (words: string) =>
    eventually(async () => expect(await lists()).toEqual([words, words, words, words]), 10_000);
  await say("started");
  await passes(31, id);
  await say("started requeued");
  // The API's status stays `started`: no status moves back.
  expect(await who.client.get(id)).toMatchObject({ status: "started" });

  const { channel } = await runner.work();
  await say("started");
  await channel.succeed("a");
  await eventually(async () =>
    expect(await rowOf(id)).toMatchObject({ status: "succeeded", waits_again: 0 }),
  );
});
