/** The end of predictions: their rows go at an age, never before their data; what they counted stays. */
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { sweepHistory } from "../../../src/services/predictions/sweep-history.ts";
import { getServices } from "../../../src/services/services.ts";
import { countOf, run } from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import { rowOf } from "../support/objects.ts";
import { deliver } from "../support/queues.ts";
import { newWorld, type World } from "../support/world.ts";

const DAY_MS = 86_400_000;

/** As every minute, when it is so many days since a prediction was created, as its id says. */
const sweepAfter = (id: string, days: number) =>
  sweepHistory(
    getServices(env),
    Number.parseInt(id.replace("-", "").slice(0, 12), 16) + days * DAY_MS,
  );

/** One that has ended, as its row knows. */
async function ended({ client, waiting }: World): Promise<string> {
  const id = await waiting();
  await (await client.post(`/v1/predictions/${id}/cancel`, {})).text();
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "canceled" }));
  return id;
}

/** Deletes it. Its row hears of that at once: the queue's message could come when the row has gone. */
async function remove({ client }: World, id: string): Promise<void> {
  const send = vi.spyOn(env.PROJECTION, "send").mockImplementationOnce(async (row) => {
    await deliver("projection", row);
    return { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };
  });
  await client.ok("DELETE", `/v1/predictions/${id}`);
  expect(send).toHaveBeenCalledTimes(1);
  send.mockRestore();
}

const usageOf = ({ user_id }: World) =>
  run("SELECT sum(predictions) AS predictions FROM usage WHERE user_id = ?", user_id);

test("a row goes when its time has come, and takes nothing of what it counted for along", async () => {
  const world = await newWorld({ visibility: "public" });
  const [gone, young] = [await ended(world), await ended(world)];
  await remove(world, gone);
  await sweepAfter(gone, 89);
  expect(await rowOf(gone)).not.toBeNull();
  await sweepAfter(young, 91);
  expect(await rowOf(gone)).toBeNull();
  // Its data is there: nobody has removed it, and its retention has not.
  expect(await rowOf(young)).not.toBeNull();
  expect((await world.client.fetch(`/v1/predictions/${gone}`)).status).toBe(404);
  expect(await countOf(world.model)).toBe(2);
  expect(await usageOf(world)).toEqual([{ predictions: 2 }]);
});

test("what is under way stays, however long it takes", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await sweepAfter(id, 91);
  await sweepAfter(id, 92);
  expect(await rowOf(id)).toMatchObject({ status: "pending" });
});

test("a row that was never told that its data is gone hears it from its object, or that there is none", async () => {
  const world = await newWorld();
  const [removed, forgotten] = [await ended(world), await ended(world)];
  await remove(world, removed);
  await run("UPDATE predictions SET data_removed = 0 WHERE id = ?", removed);
  await run(
    "UPDATE predictions SET object_id = ? WHERE id = ?",
    env.PREDICTION.newUniqueId().toString(),
    forgotten,
  );
  await sweepAfter(forgotten, 91);
  expect(await rowOf(removed)).not.toBeNull();
  await sweepAfter(forgotten, 91);
  expect(await rowOf(removed)).toBeNull();
  expect(await rowOf(forgotten)).toBeNull();
});

test("goes on where more have had their time than one step takes, and with the next account", async () => {
  const worlds = [await newWorld(), await newWorld()];
  for (const { user_id } of worlds) {
    await run(
      `WITH RECURSIVE n (value) AS (SELECT 1000 UNION ALL SELECT value + 1 FROM n WHERE value < 3499)
        INSERT INTO predictions (user_id, id, object_id, model_id, model_owner, model_name, version_number, stream, status, created_at, updated_at, data_removed, revision, checked_at)
        SELECT ?, '00000000-0000-7' || value, '', 'm', '', '', 1, 0, 'canceled', 0, 0, 1, 1, 0 FROM n`,
      user_id,
    );
  }
  const left = async () => {
    const counting = worlds.map(({ user_id }) =>
      run("SELECT count(*) AS count FROM predictions WHERE user_id = ?", user_id),
    );
    return (await Promise.all(counting)).flat();
  };
  await sweepHistory(getServices(env), Date.now());
  expect(await left()).toEqual([{ count: 500 }, { count: 500 }]);
  await sweepHistory(getServices(env), Date.now());
  expect(await left()).toEqual([{ count: 0 }, { count: 0 }]);
  const rows = await run("SELECT bytes FROM account_bytes WHERE bytes < 0");
  expect(rows).toEqual([]);
});
