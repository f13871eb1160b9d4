/** Owners of models, and lists of these. */
import { expect } from "vitest";
import { namesOf, newModel, pageAt } from "./catalogue.ts";
import { Client } from "./client.ts";
import { newUser } from "./world.ts";

export const nobody = new Client(undefined);

export const listed = async (list: string, query = "", client = nobody) =>
  namesOf(await pageAt(client, `${list}?page_size=50${query}`));

/** Makes a model per fields. `both` returns their names in the list of all and in their owner's list. */
export async function newOwner(...all: object[]) {
  const { client, username } = await newUser();
  const models = [];
  for (const fields of all)
    models.push(await newModel(client, { visibility: "public", ...fields }));
  const names = models.map(({ name }) => name);
  const both = async (query = "") => {
    const ofOwner = await listed(`/v1/models/${username}`, query);
    const ofAll = (await listed("/v1/models", query)).filter((name) => names.includes(name));
    expect(ofAll).toEqual(ofOwner);
    return ofOwner;
  };
  return { client, username, models, names, both };
}
