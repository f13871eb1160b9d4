/** Random pushes, mounts, deletions and renames of several accounts, and steps of the collection. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import type { Model, Version } from "../../../src/protocol/model.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import {
  collectGarbage,
  PUSH_MS,
  sweepRegistry,
} from "../../../src/services/registry/sweep-registry.ts";
import { collectLinks, collectManifests } from "../../../src/storage/registry/collection.ts";
import { sized } from "../../support/sized.ts";
import { run, services } from "../support/accounts.ts";
import type { Client } from "../support/client.ts";
import {
  anonymous,
  type Bytes,
  bytesOf,
  digestOf,
  manifestOf,
  Repository,
} from "../support/registry.ts";
import {
  expectExactBytes,
  expectExactObjects,
  keysInR2,
  weeksLater,
} from "../support/registry-audit.ts";
import { RepositoryModel } from "../support/registry-model.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, unique } from "../support/world.ts";

const RUNS = sized(1, 15);
const STEPS = 30;
const SEED = 20_261_126;

afterEach(startClock);

const CONFIG = bytesOf(JSON.stringify({ architecture: "amd64", os: "linux" }));
const LAYERS = ["a", "bb", "ccc", "dddd"].map((text) => bytesOf(text.repeat(10)));

interface Content {
  text: string;
  type: string;
  /** The blobs that must exist before the content. */
  blobs: Bytes[];
  manifests: Content[];
  subject?: string;
}

const image = (...layers: number[]): Content => {
  const blobs = layers.map((n) => LAYERS[n] ?? CONFIG);
  const text = manifestOf(CONFIG, blobs);
  return { text, type: MEDIA_TYPES.ociManifest, blobs: [CONFIG, ...blobs], manifests: [] };
};
const IMAGES = [image(0), image(0, 1), image(1, 2, 3), image(3)];

const described = ({ text, type }: Content) => ({
  mediaType: type,
  digest: digestOf(text),
  size: text.length,
});

const index = (...manifests: Content[]): Content => {
  const content = { schemaVersion: 2, mediaType: MEDIA_TYPES.ociIndex };
  const text = JSON.stringify({ ...content, manifests: manifests.map(described) });
  return { text, type: MEDIA_TYPES.ociIndex, blobs: [], manifests };
};
const INDEXES = [index(...IMAGES.slice(0, 2)), index(...IMAGES.slice(2)), index(...IMAGES)];

const attachment = (to: Content): Content => {
  const subject = described(to);
  const extra = { subject, artifactType: "application/x.signature" };
  const text = manifestOf(CONFIG, [], extra);
  const common = { type: MEDIA_TYPES.ociManifest, blobs: [CONFIG], manifests: [] };
  return { ...common, text, subject: subject.digest };
};

const CONTENTS = [
  ...IMAGES,
  ...INDEXES,
  index(...INDEXES.slice(0, 1)),
  ...[...IMAGES, ...INDEXES].map(attachment),
];

const TAGS = ["latest", "v1", "v2"];

/** The weight of each operation. */
const WEIGHTS = {
  push: 6,
  blob: 1,
  mount: 2,
  broken: 1,
  untag: 3,
  tag: 2,
  deleteManifest: 2,
  deleteBlob: 2,
  version: 4,
  deleteVersion: 3,
  rename: 1,
  deleteModel: 2,
  pass: 6,
  collect: 8,
};

/** Operations, whose numbers choose among the existing items. */
const operations = fc.noBias(
  fc.record({
    kind: fc.oneof(
      ...Object.entries(WEIGHTS).map(([kind, weight]) => ({
        weight,
        arbitrary: fc.constant(kind),
      })),
    ),
    a: fc.nat(),
    b: fc.nat(),
    c: fc.nat(),
  }),
);
type Operation = typeof operations extends fc.Arbitrary<infer Value> ? Value : never;

interface Place {
  owner: Client;
  username: string;
  name: string;
  isPublic: boolean;
  model: RepositoryModel;
  /** The model's ID, once the model exists. */
  id: string | undefined;
}

/** The hours that can pass at once. A push may take 168. */
const HOURS = [1, 20, 60, 95, 100, 160, 170];

const chosen = <Item>(items: Item[], n: number): Item | undefined => items[n % items.length];

class Deployment {
  readonly places: Place[];
  readonly gone: Place[] = [];

  constructor(places: Place[]) {
    this.places = places;
  }

  at = ({ owner, username, name }: Place) => new Repository(owner, `${username}/${name}`);

  async do({ kind, a, b, c }: Operation): Promise<void> {
    const place = chosen(this.places, a) ?? expect.fail();
    const repository = this.at(place);
    const { model } = place;
    const now = Date.now();
    const layer = chosen(LAYERS, b) ?? CONFIG;
    const content = chosen(CONTENTS, b) ?? expect.fail();
    if (kind === "push") await this.#push(place, content, chosen(TAGS, c));
    if (kind === "blob") await this.#blob(place, layer);
    if (kind === "mount") {
      const from = chosen(this.places, c) ?? place;
      const query = `mount=${digestOf(layer)}&from=${from.username}/${from.name}`;
      const { status } = await repository.send("POST", `blobs/uploads/?${query}`);
      await this.#made(place);
      const isOpen = from.isPublic || from.owner === place.owner;
      const isThere = from.model.needed(now).has(digestOf(layer));
      if (isOpen && isThere) expect(status).toBe(201);
      if (!isOpen) expect(status).toBe(202);
      if (status === 201) model.blob(digestOf(layer), now);
    }
    if (kind === "broken") {
      const location = await repository.begin();
      await this.#made(place);
      await repository.patch(location, layer);
    }
    if (kind === "tag") {
      const [digest] = chosen([...model.manifests], b) ?? [];
      const known = CONTENTS.find(({ text }) => digestOf(text) === digest);
      if (known) await this.#push(place, known, chosen(TAGS, c));
    }
    if (kind === "untag") {
      const tag = chosen([...model.tags.keys()], b);
      if (tag === undefined) return;
      expect((await repository.send("DELETE", `manifests/${tag}`)).status).toBe(202);
      model.tags.delete(tag);
    }
    if (kind === "deleteManifest") {
      const digest = chosen([...model.manifests.keys()], b);
      if (digest === undefined) return;
      const { status } = await repository.send("DELETE", `manifests/${digest}`);
      if (model.isBound(digest, now)) return void expect(status).toBe(409);
      if (model.needed(now).has(digest)) expect(status).toBe(202);
      if (status !== 409) model.deleteManifest(digest);
    }
    if (kind === "deleteBlob") {
      const digest = digestOf(layer);
      const { status } = await repository.send("DELETE", `blobs/${digest}`);
      const names = [...model.needed(now)].flatMap((one) => model.manifests.get(one)?.names ?? []);
      if (names.includes(digest)) expect(status).toBe(409);
      if (status === 202) model.blobs.delete(digest);
    }
    if (kind === "version") {
      const tag = chosen(TAGS, c) ?? "";
      const one = chosen(IMAGES, b) ?? content;
      await this.#push(place, one, tag);
      const { number } = await place.owner.ok<Version>(
        "POST",
        `/v1/models/${repository.name}/versions`,
        { release_notes: "", image: tag, schemas: { prediction: { input: {}, output: {} } } },
      );
      model.versions.set(number, digestOf(one.text));
    }
    if (kind === "deleteVersion") {
      const number = chosen([...model.versions.keys()], b);
      if (number === undefined) return;
      await place.owner.ok("DELETE", `/v1/models/${repository.name}/versions/${number}`);
      await this.#held(place, model.deleteVersion(number, now));
    }
    if (kind === "rename" && place.id !== undefined) {
      const name = unique("renamed");
      await place.owner.ok("PATCH", `/v1/models/${repository.name}`, { name });
      place.name = name;
    }
    if (kind === "deleteModel" && place.id !== undefined) {
      await place.owner.ok("DELETE", `/v1/models/${repository.name}`);
      await this.#held(place, model.deleteModel(now));
      this.gone.push({ ...place });
      Object.assign(place, { model: new RepositoryModel(), id: undefined, isPublic: false });
    }
    if (kind === "pass") advance((chosen(HOURS, a) ?? 1) * 3_600);
    if (kind === "collect") await this.#collect(a, 1 + (b % 3));
  }

  /** Sets the ends of holds by the moved clock, since that of D1 does not move. */
  async #held({ id, model }: Place, digests: string[]): Promise<void> {
    for (const digest of digests)
      await run(
        "UPDATE registry_holds SET until = ? WHERE model_id = ? AND digest = ?",
        model.holds.get(digest),
        id,
        digest,
      );
  }

  /** Pushes content as a client does, without blobs that exist. */
  async #push(place: Place, content: Content, tag: string | undefined): Promise<void> {
    const repository = this.at(place);
    for (const blob of content.blobs) {
      const digest = digestOf(blob);
      if (await repository.has(digest)) place.model.found(digest, Date.now());
      else await this.#blob(place, blob);
    }
    for (const one of content.manifests) await this.#push(place, one, undefined);
    const digest = digestOf(content.text);
    const put = await repository.putManifest(tag ?? digest, content.text, content.type);
    expect(put.status, await put.text()).toBe(201);
    await this.#made(place);
    const names = [
      ...content.blobs.map(digestOf),
      ...content.manifests.map((one) => digestOf(one.text)),
    ];
    place.model.manifest(digest, names, content.subject, Date.now());
    if (tag !== undefined) place.model.tags.set(tag, digest);
  }

  async #blob(place: Place, bytes: Bytes): Promise<void> {
    const digest = await this.at(place).push(bytes);
    await this.#made(place);
    place.model.blob(digest, Date.now());
  }

  /** Notes the model that the first push has created. */
  async #made(place: Place): Promise<void> {
    if (place.id !== undefined) return;
    const { name } = this.at(place);
    place.id = (await place.owner.ok<Model>("GET", `/v1/models/${name}`)).id;
    place.isPublic = place.name.startsWith("public");
    if (place.isPublic)
      await place.owner.ok("PATCH", `/v1/models/${name}`, { visibility: "public" });
  }

  async #collect(what: number, limit: number): Promise<void> {
    const now = Date.now();
    const step = { before: now - PUSH_MS, now, limit };
    if (what % 4 === 0) await collectManifests(services.db, step);
    if (what % 4 === 1) await collectLinks(services.db, step);
    if (what % 4 === 2) await collectGarbage(services);
    if (what % 4 === 3) await sweepRegistry(services, now);
    await this.expectWhole();
  }

  /** Checks that all needed content is stored, also in R2. */
  async expectWhole(): Promise<void> {
    const rows = await run(`SELECT model_id, digest, key FROM registry_blobs JOIN
      (SELECT model_id, digest FROM registry_links UNION SELECT model_id, digest FROM registry_manifests)
      USING (digest)`);
    const keys = new Set(await keysInR2());
    const stored = new Set(rows.map(({ model_id, digest }) => `${model_id} ${digest}`));
    const missing = [...this.places, ...this.gone].flatMap(({ id, model }) =>
      [...model.needed(Date.now())].filter((digest) => !stored.has(`${id} ${digest}`)),
    );
    expect(missing).toEqual([]);
    expect(rows.filter(({ key }) => !keys.has(String(key)))).toEqual([]);
    await expectExactBytes();
  }

  /** Checks that needed content is readable by permitted callers, and by no others. */
  async expectReadable(): Promise<void> {
    for (const place of this.places) {
      const stranger = this.places.find(({ owner }) => owner !== place.owner)?.owner ?? anonymous;
      const repository = this.at(place);
      for (const digest of place.model.needed(Date.now())) {
        const kind = place.model.manifests.has(digest) ? "manifests" : "blobs";
        for (const [client, mayRead] of [
          [place.owner, true],
          [stranger, place.isPublic],
          [anonymous, place.isPublic],
        ] as const) {
          const read = await repository.as(client).send("GET", `${kind}/${digest}`);
          const bytes = new Uint8Array(await read.arrayBuffer());
          expect([digest, read.ok && digestOf(bytes) === digest]).toEqual([digest, mayRead]);
        }
      }
      for (const [tag, digest] of place.model.tags) {
        const head = await repository.send("HEAD", `manifests/${tag}`);
        expect(head.headers.get("docker-content-digest")).toBe(digest);
      }
    }
  }

  /** Deletes all models. Checks that nothing is left. */
  async expectNothing(): Promise<void> {
    for (const place of this.places)
      if (place.id !== undefined)
        await place.owner.ok("DELETE", `/v1/models/${this.at(place).name}`);
    await weeksLater();
    await expectExactObjects();
    await expectExactBytes();
    expect(await keysInR2()).toEqual([]);
    for (const table of ["blobs", "links", "manifests", "references", "tags", "holds"])
      expect([table, await run(`SELECT * FROM registry_${table}`)]).toEqual([table, []]);
  }
}

const users = [await newUser(), await newUser()];

function newDeployment(): Deployment {
  const [one, two] = users;
  if (!one || !two) throw new Error("no users");
  const place = ({ client, username }: typeof one, name: string): Place => ({
    owner: client,
    username,
    name: unique(name),
    isPublic: false,
    model: new RepositoryModel(),
    id: undefined,
  });
  return new Deployment([place(one, "public"), place(one, "story"), place(two, "story")]);
}

test("needed content is kept in any order of operations, and all other content is collected", {
  timeout: 3_600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(operations, { minLength: STEPS, maxLength: STEPS }),
      async (steps) => {
        stopClock();
        const deployment = newDeployment();
        for (const step of steps) await deployment.do(step);
        for (const hours of HOURS) {
          advance(hours * 3_600);
          await sweepRegistry(services, Date.now());
          await deployment.expectWhole();
        }
        await deployment.expectReadable();
        await deployment.expectNothing();
      },
    ),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
  expect(await env.IMAGES.list()).toMatchObject({ objects: [] });
});
