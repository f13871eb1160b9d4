/** Models, versions and pages of lists. */
import type { Model, Version } from "../../../src/protocol/model.ts";
import type { Owner } from "../../../src/protocol/user.ts";
import type { Client } from "./client.ts";
import { DIGEST, unique } from "./world.ts";

export const VERSION = {
  release_notes: "",
  container_image_digest: DIGEST,
  schemas: { prediction: { input: {}, output: {} } },
};

export const newModel = (client: Client, fields: object = {}) =>
  client.ok<Model>("POST", "/v1/models", { name: unique("model"), ...fields });

const handleOf = (owner: Owner) => ("username" in owner ? owner.username : owner.name);

/** Returns `owner/name`. */
export const referenceOf = ({ owner, name }: Pick<Model, "owner" | "name">) =>
  `${handleOf(owner)}/${name}`;

export const pathOf = (model: Pick<Model, "owner" | "name">) => `/v1/models/${referenceOf(model)}`;

export const publish = (client: Client, reference: string, fields: object = {}) =>
  client.ok<Version>("POST", `/v1/models/${reference}/versions`, { ...VERSION, ...fields });

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
  previous_cursor: string | null;
  next_url: string | null;
  previous_url: string | null;
}

export const pageAt = <Item>(client: Client, address: string) =>
  client.ok<Page<Item>>("GET", address);

/** Returns the pages from one address on, by the addresses of their neighbours. */
export async function walk<Item>(
  client: Client,
  address: string,
  to: "next_url" | "previous_url" = "next_url",
): Promise<Page<Item>[]> {
  const pages: Page<Item>[] = [];
  for (let at: string | null | undefined = address; at; at = pages.at(-1)?.[to]) {
    pages.push(await pageAt<Item>(client, at));
    if (pages.length > 100) throw new Error(`${address} does not end`);
  }
  return pages;
}

export const namesOf = ({ items }: Page<Model>) => items.map(({ name }) => name);
