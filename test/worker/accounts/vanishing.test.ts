/** Deletions during requests that name the deleted model: answers are as before or after, never a 5xx. */
import { expect, test } from "vitest";
import { sized } from "../../support/sized.ts";
import { newModel, pathOf, VERSION } from "../support/catalogue.ts";
import { newUser } from "../support/world.ts";

const { client } = await newUser();

/** The rounds of each race. In some of them the deletion comes between check and write. */
const rounds = Array.from({ length: sized(5, 20) }, (_, n) => n);

async function statusesOf(...answering: Promise<Response>[]): Promise<number[]> {
  const answers = await Promise.all(answering);
  await Promise.all(answers.map((answer) => answer.text()));
  return answers.map(({ status }) => status);
}

test("a model can be deleted while a version of it is published", async () => {
  for (const _ of rounds) {
    const path = pathOf(await newModel(client, { hardware_identifier: "cpu" }));
    const body = { ...VERSION, configuration: { hardware_identifier: "cpu" } };
    const [deleted, published] = await statusesOf(
      client.fetch(path, { method: "DELETE" }),
      client.post(`${path}/versions`, body),
    );
    expect(deleted).toBe(200);
    expect([200, 404, 409]).toContain(published);
    expect(await statusesOf(client.fetch(path), client.fetch(`${path}/versions`))).toEqual([
      404, 404,
    ]);
  }
});

test("a model can be deleted while its categories are changed", async () => {
  for (const _ of rounds) {
    const path = pathOf(await newModel(client));
    const [deleted, changed] = await statusesOf(
      client.fetch(path, { method: "DELETE" }),
      client.send("PATCH", path, { category_slugs: ["music"] }),
    );
    expect(deleted).toBe(200);
    expect([200, 404, 409]).toContain(changed);
  }
});
