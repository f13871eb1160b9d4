/** Output in the bodies of webhooks that are sent again, and over many frames. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { storeValue } from "../support/files.ts";
import { again, delivered, tell } from "../support/outputs.ts";
import { exchanged, script } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { expectAsStreamed, payloadOf, settled, told, watched } from "../support/webhooks.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const log = (data: string) => ({ event: "logs", data }) as const;
const output = (data: string) => ({ event: "output", data }) as const;

describe("the body of a webhook", () => {
  test("a body has output of many frames, with logs in between and values in R2", async () => {
    const one = await watched({ events: ["output", "completed"] });
    const { client, path, id, runner, job, channel } = one;
    for (let round = 1; round <= 3; round++) {
      channel.push([log("a line"), output(`${round}a`), log("more"), output(`${round}b`)]);
      if (round % 3 === 0) channel.push([await storeValue(runner, job, `stored ${round}`)]);
      channel.push([log("and nothing else")]);
      await channel.output(`${round}c`);
      await tell(one, round);
    }
    await channel.succeed("the last");
    await tell(one, 4);
    expect(await told(path, 4)).toHaveLength(4);
    await expectAsStreamed(client, id, path);
    expect((await client.get(id)).output).toHaveLength(11);
  });

  test("a body is the same in a retry, and the next one has the new output", async () => {
    const one = await watched({ events: ["output"] });
    const { client, path, id, channel } = one;
    await script(path, { status: 200 }, { status: 500 }, { status: 200 });
    await channel.output("a");
    await tell(one, 1);
    await channel.output("b", "c");
    await passes(0.5, id);
    await settled(client, id, "delivered", "pending");
    await passes(6, id);
    await settled(client, id, ...delivered(2));
    await channel.output("d");
    await tell(one, 3);
    await channel.succeed();
    expect((await exchanged(path, 4)).map(payloadOf).map((one) => one.output)).toEqual([
      ["a"],
      ["a", "b", "c"],
      ["a", "b", "c"],
      ["a", "b", "c", "d"],
    ]);
    await expectAsStreamed(client, id, path);
  });

  test("a body is the same in a redelivery, during the run and after it", async () => {
    const one = await watched({ events: ["output", "completed"] });
    const { client, path, id, channel } = one;
    await channel.output("a");
    const [first] = await tell(one, 1);
    await channel.output("b");
    const [, second] = await tell(one, 2);
    await again(one, first, 2);
    await channel.output("c");
    await tell(one, 3);
    await again(one, second, 3);
    await channel.succeed("d");
    await tell(one, 4);
    await again(one, first, 4);
    await again(one, second, 4);
    const bodies = (await exchanged(path, 8)).map(({ body }) => body);
    expect([bodies.length, new Set(bodies).size]).toEqual([8, 4]);
    await expectAsStreamed(client, id, path);
  });
});
