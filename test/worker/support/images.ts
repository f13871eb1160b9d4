/** Images in a model's repository, as clients push them, and versions that are read from them. */
import { expect } from "vitest";
import type { Model, Version } from "../../../src/protocol/model.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { referenceOf } from "./catalogue.ts";
import type { Client } from "./client.ts";
import { newDashboardUser } from "./dashboard-users.ts";
import { bytesOf, digestOf, manifestOf, Repository, randomBytes } from "./registry.ts";
import { newUser, unique } from "./world.ts";

export class Images {
  readonly #repository: Repository;
  readonly #client: Client;
  /** Sizes of manifests in bytes, by digest. */
  readonly #manifestSizes = new Map<string, number>();
  readonly versions: string;

  /** @param model `owner/name` */
  constructor(client: Client, model: string) {
    this.#client = client;
    this.#repository = new Repository(client, model);
    this.versions = `/v1/models/${model}/versions`;
  }

  /** Pushes an image. @param config the settings of its containers. @returns its digest */
  async push(tag: string, config: object, architecture = "amd64"): Promise<string> {
    const blob = bytesOf(JSON.stringify({ architecture, os: "linux", config, id: unique("") }));
    const layer = randomBytes(5_000);
    for (const bytes of [blob, layer]) await this.#repository.push(bytes);
    return this.put(tag, manifestOf(blob, [layer]));
  }

  async pushBlob(text: string): Promise<string> {
    return this.#repository.push(bytesOf(text));
  }

  /** Puts a manifest or an index. @returns its digest */
  async put(tag: string, manifest: string, type: string = MEDIA_TYPES.ociManifest) {
    const response = await this.#repository.putManifest(tag, manifest, type);
    expect(response.status, await response.clone().text()).toBe(201);
    const digest = digestOf(manifest);
    this.#manifestSizes.set(digest, bytesOf(manifest).length);
    return digest;
  }

  /** Returns the entry of an index for a manifest that was put here. */
  entry(digest: string) {
    const size = this.#manifestSizes.get(digest) ?? expect.fail(`${digest} was not put here`);
    return { mediaType: MEDIA_TYPES.ociManifest, digest, size };
  }

  publish(request: object): Promise<Version> {
    return this.#client.ok<Version>("POST", this.versions, { release_notes: "", ...request });
  }

  /** Returns the place and the message of a refused publication's error. */
  async refused(request: object): Promise<string> {
    const { status, body } = await this.#client.refused(this.versions, {
      release_notes: "",
      ...request,
    });
    expect(status).toBe(422);
    if (typeof body.detail === "string") return body.detail;
    return body.detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`).join();
  }
}

export async function newImages(fields: object = {}) {
  const { client } = await newUser();
  const made = await client.ok<Model>("POST", "/v1/models", { name: unique("model"), ...fields });
  const model = referenceOf(made);
  return { client, model, id: made.id, images: new Images(client, model) };
}

/** Returns a repository like `newImages`, of a user of the dashboard. */
export async function newOwnImages(fields: object = {}) {
  const person = await newDashboardUser();
  const { client } = person;
  const made = await client.ok<Model>("POST", "/v1/models", { name: unique("model"), ...fields });
  const model = referenceOf(made);
  return { ...person, model, id: made.id, images: new Images(client, model) };
}
