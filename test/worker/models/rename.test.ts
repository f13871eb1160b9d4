/** Renames of a model or its owner: the old address is gone at once, and running predictions go on. */
import { describe, expect, test } from "vitest";
import { publish } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { newWorld, unique } from "../support/world.ts";

const run = async (client: Client, model: string) =>
  (await client.refused("/v1/predictions", { model, input: {} })).status;

const RENAMES = [
  {
    what: "a model",
    rename: async (client: Client, model: string) => {
      const [owner] = model.split("/");
      const name = unique("renamed");
      await client.ok("PATCH", `/v1/models/${model}`, { name });
      return `${owner}/${name}`;
    },
  },
  {
    what: "its owner",
    rename: async (client: Client, model: string) => {
      const [, name] = model.split("/");
      const username = unique("renamed");
      await client.ok("PATCH", "/v1/user", { username });
      return `${username}/${name}`;
    },
  },
];

describe.each(RENAMES)("after a rename of $what", ({ rename }) => {
  test("a running prediction goes on, and keeps the name that it was created with", async () => {
    const { client, model, begun } = await newWorld();
    const { id, channel } = await begun();
    const [owner, name] = model.split("/");
    await rename(client, model);
    await channel.succeed("a");
    expect(await client.get(id)).toMatchObject({
      status: "succeeded",
      output: ["a"],
      model: { owner, name, version_number: 1 },
    });
  });

  test("the old name runs nothing at once, and the new one runs everything", async () => {
    const world = await newWorld({ visibility: "public" });
    const stranger = await world.stranger();
    for (const one of ["", ":1"]) expect(await run(stranger, world.model + one)).toBe(202);
    const model = await rename(world.client, world.model);
    for (const client of [stranger, world.client]) {
      for (const one of ["", ":1"]) {
        expect(await run(client, world.model + one)).toBe(404);
        expect(await run(client, model + one)).toBe(202);
      }
    }
  });

  test("versions run the image of the name that they were published with", async () => {
    const world = await newWorld();
    const model = await rename(world.client, world.model);
    const { number } = await publish(world.client, model);
    const registry = world.image.slice(0, world.image.indexOf("/"));
    const runner = await world.runner();
    for (const [reference, repository] of [
      [`${model}:1`, `${registry}/${world.model}`],
      [`${model}:${number}`, `${registry}/${model}`],
    ]) {
      const { body } = await world.client.create({ model: reference, input: {} });
      const job = await runner.take();
      expect(job).toMatchObject({ prediction_id: body.id, image: { repository } });
      await (await runner.connect(job)).succeed();
    }
  });
});
