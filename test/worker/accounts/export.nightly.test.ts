/** Exports of much usage, and of many models. */
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import { exported, linesIn, ofType } from "../support/export.ts";
import { inAccount } from "../support/objects.ts";
import { newUser, newWorld } from "../support/world.ts";

afterEach(() => void vi.restoreAllMocks());

test("an export of many models and versions takes fewer than 25 queries", async () => {
  const { client, user_id } = await newUser();
  const models = await Promise.all([newModel(client), newModel(client), newModel(client)]);
  for (const model of models) await publish(client, referenceOf(model));
  await env.DB.prepare(
    `INSERT INTO versions (model_id, number, release_notes, container_image_digest, repository, schemas, compatibilities, configuration, size, created_at)
      SELECT v.model_id, v.number + n.value, v.release_notes, v.container_image_digest, v.repository, v.schemas, v.compatibilities, v.configuration, 0, 0
      FROM versions AS v JOIN models AS m ON m.id = v.model_id, json_each(?) AS n WHERE m.owner_id = ?`,
  )
    .bind(JSON.stringify([...Array(30).keys()].map((n) => n + 1)), user_id)
    .run();
  const prepare = vi.spyOn(env.DB, "prepare");
  const lines = linesIn(await exported(client));
  expect(prepare.mock.calls.length).toBeLessThan(25);
  const numbers = Map.groupBy(ofType(lines, "version"), ({ model_id }) => model_id);
  expect(
    ofType(lines, "model")
      .map(({ model }) => model.id)
      .toSorted(),
  ).toEqual([...numbers.keys()].toSorted());
  for (const versions of numbers.values())
    expect(versions.map(({ version }) => version.number)).toEqual(
      Array.from({ length: 31 }, (_, n) => n + 1),
    );
});

test("an export has all pages of usage, separately for each token", async () => {
  const world = await newWorld();
  await world.waiting();
  const model_id = "01900000-0000-7000-8000-000000000000";
  const token_id = "01900000-0000-7000-8000-000000000001";
  const days = Array.from({ length: 600 }, (_, n) =>
    new Date(n * 86_400_000).toISOString().slice(0, 10),
  );
  for (const token of ["", token_id])
    await inAccount(
      world.user_id,
      `INSERT INTO usage SELECT value, ?, 1, ?, '', 'cpu', '', 0, 'ada/m', ?, '', '', 2, 1, 500, 0, 7, 3, 1, 0, 250000000, '{}'
        FROM json_each(?)`,
      ...[model_id, token, token && "CI", JSON.stringify(days)],
    );
  const rows = ofType(linesIn(await exported(world.client)), "usage").map(({ usage }) => usage);
  expect(rows.map(({ day }) => day)).toEqual(days.flatMap((day) => [day, day]));
  const counts = {
    model_id,
    model: "ada/m",
    ...{ version_number: 1, member_id: null, member: null, hardware: "cpu" },
    ...{ deployment: null, release: null },
    ...{ predictions: 2, failed: 1, execution_seconds: 0.5, setup_seconds: 0 },
    ...{ input_tokens: 7, output_tokens: 3, cached_tokens: 1, images: 0 },
    cost: "0.25",
  };
  expect(rows.slice(0, 2)).toEqual([
    { day: "1970-01-01", token_id: null, token: null, ...counts },
    { day: "1970-01-01", token_id, token: "CI", ...counts },
  ]);
});
