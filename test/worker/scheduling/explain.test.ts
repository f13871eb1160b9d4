import { expect, test } from "vitest";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { eventually, pause } from "../support/eventually.ts";
import { objectOf } from "../support/objects.ts";
import { lineOf, pool } from "../support/pool.ts";
import { DIGEST, newWorld, type World } from "../support/world.ts";

const explain = async (world: World, id: string) =>
  pool(world).explain(String((await objectOf(id)).id));

async function waits(world: World) {
  const id = await world.waiting();
  await lineOf(world, 1);
  return id;
}

test("an explanation says whether there is no runner or all are busy", async () => {
  const world = await newWorld();
  const id = await waits(world);
  expect(await explain(world, id)).toEqual({
    reason: { why: "no-box", hardware: world.hardware },
    range: "unknown",
    runners: [],
    stopped: [],
  });
  const one = await world.runner();
  await one.tellState({ free: 0 });
  expect(await explain(world, id)).toMatchObject({
    reason: { why: "busy", position: 1, accounts: 0, reserved: [] },
  });
});

test("an explanation has the reasons of runners that declined the job", async () => {
  const world = await newWorld();
  const [one, other] = [await world.runner(), await world.runner()];
  const id = await waits(world);
  for (const runner of [one, other]) {
    const [job] = await runner.claim();
    expect(job?.prediction_id).toBe(id);
    const declined = [{ handout: job?.handout ?? 0, reason: `no room on ${runner.hardware}` }];
    await runner.tellState({ free: 1, declined });
    await lineOf(world, 1);
  }
  // The runners poll with the state in which they declined the job.
  const polls = new AbortController();
  for (const runner of [one, other]) runner.poll({}, polls.signal).catch(() => {});
  await eventually(async () => expect((await pool(world).status()).free).toBe(2));
  await pause(100);
  const explanation = await explain(world, id);
  expect(explanation?.reason.why).toBe("declined");
  expect(explanation?.runners).toEqual(
    expect.arrayContaining(
      [one, other].map((runner) => ({
        id: runner.id,
        name: expect.stringMatching(/^runner-/),
        reason: `no room on ${world.hardware}`,
      })),
    ),
  );
  polls.abort();
});

test("an explanation names stopped containers by their image, or by their model if it is known", async () => {
  const world = await newWorld();
  const one = await world.runner();
  const key = "unknown before";
  const [image, max_containers] = ["registry.example.com/bob/old@sha256:bb", 1];
  const old = readyContainer({ name: "old", key, image, hardware: world.hardware });
  const first = await waits(world);
  const [job] = await one.claim({ max_containers, containers: [old] });
  expect(job).toMatchObject({ prediction_id: first, stop: ["old"] });
  const starting = { why: "starting", box: one.id, stopped: [key] };
  expect(await explain(world, first)).toEqual({
    reason: starting,
    range: "unknown",
    runners: [{ id: one.id, name: expect.stringMatching(/^runner-/), reason: null }],
    stopped: [{ image, model: null }],
  });
  const { client, model, user_id, hardware } = world;
  const other = `${world.username}/other`;
  await client.ok("POST", "/v1/models", {
    name: "other",
    visibility: "private",
    hardware_identifier: hardware,
  });
  await client.ok("POST", `/v1/models/${other}/versions`, {
    release_notes: "",
    container_image_digest: DIGEST,
    schemas: { prediction: { input: {}, output: {} } },
  });
  await (await one.connect(job ?? (await one.take()))).succeed();
  const second = (await client.create({ model: other, input: {} })).body.id;
  await lineOf(world, 1);
  const story = readyContainer({ name: "s", key: job?.keys.container ?? "", image, hardware });
  await one.claim({ max_containers, containers: [story] });
  expect((await explain(world, second))?.stopped).toEqual([
    {
      image: world.image,
      model: { name: `${model}:1`, model_id: expect.any(String), model_owner_id: user_id },
    },
  ]);
});
