/** Lists of models by the counts of their runs. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { pathOf, publish, referenceOf } from "../support/catalogue.ts";
import { tellCounts } from "../support/objects.ts";
import { newOwner } from "../support/owners.ts";
import { sweep } from "../support/queues.ts";

describe("by count", () => {
  const COUNTED = "&sort_by=predictions_count";

  async function tellAndSweep() {
    await tellCounts();
    await sweep();
  }

  /** Makes three models, and `run`, which runs one of them a number of times. */
  async function newCounted() {
    const owner = await newOwner({}, { category_slugs: ["chat", "code"] }, {});
    for (const model of owner.models) await publish(owner.client, referenceOf(model));
    const run = async (at: number, times: number) => {
      const model = referenceOf(owner.models[at] ?? expect.fail());
      for (let n = 0; n < times; n++) await owner.client.create({ model, input: {} });
    };
    return { ...owner, run };
  }

  test("the list by count has models that were run, by their counts of the last minute", async () => {
    const { names, both, run } = await newCounted();
    const [a, b] = names;
    expect(await both(COUNTED)).toEqual([]);
    await run(0, 2);
    await run(1, 1);
    expect(await both(COUNTED)).toEqual([]);
    await tellAndSweep();
    expect(await both(COUNTED)).toEqual([b, a]);
    expect(await both(`${COUNTED}&sort_direction=desc`)).toEqual([a, b]);
    expect(await both(`${COUNTED}&category_slugs=chat&category_slugs=code`)).toEqual([b]);
    expect(await both()).toEqual(names);
    await run(1, 2);
    await tellAndSweep();
    expect(await both(COUNTED)).toEqual([a, b]);
  });

  test("a model whose count has just risen is listed once, also in a new category", async () => {
    const { client, models, names, both, run } = await newCounted();
    await run(1, 1);
    await tellAndSweep();
    await env.DB.prepare("UPDATE model_counts SET predictions_count = 7 WHERE model_id = ?")
      .bind(models[1]?.id)
      .run();
    const category_slugs = ["chat", "code", "ocr"];
    await client.ok("PATCH", pathOf(models[1] ?? expect.fail()), { category_slugs });
    expect(await both(`${COUNTED}&category_slugs=chat&category_slugs=ocr`)).toEqual([names[1]]);
  });

  test("models that were run equally often keep one order", async () => {
    const { names, both, run } = await newCounted();
    for (const at of [2, 0, 1]) await run(at, 1);
    await tellAndSweep();
    expect(await both(COUNTED)).toEqual(names);
    expect(await both(`${COUNTED}&sort_direction=desc`)).toEqual(names.toReversed());
  });
});
