/**
 * Requests to the registry, while each of their platform calls fails in turn: the answer is a success or a
 * 503 with retry-after, and the next request succeeds. No content is lost, and no garbage stays.
 */
import { afterEach, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { PART_BYTES } from "../../../src/domain/registry/chunk.ts";
import { grantEnd, signGrant } from "../../../src/domain/registry/grant.ts";
import type { Model } from "../../../src/protocol/model.ts";
import { run, services } from "../support/accounts.ts";
import { askedAgain } from "../support/asked-again.ts";
import { Client } from "../support/client.ts";
import { type Failure, failing } from "../support/failing.ts";
import { expectFailures, FAILURES, LONG } from "../support/one-at-a-time.ts";
import {
  type Bytes,
  digestOf,
  expectError,
  manifestOf,
  newRepository,
  Repository,
  randomBytes,
  sha512Of,
} from "../support/registry.ts";
import { expectExactBytes, expectExactObjects, weeksLater } from "../support/registry-audit.ts";
import { advance } from "../support/time.ts";
import { newRunnerToken } from "../support/world.ts";

expectFailures();

afterEach(async () => {
  await weeksLater();
  await expectExactObjects();
  await expectExactBytes();
});

/** The seconds after which caches of isolates have expired. */
const CACHED_S = 10;

interface Place {
  bytes: Bytes;
  digest: string;
  /** The address of an upload. */
  location: string;
  /** The repository as a runner reaches it with a grant. */
  granted?: Repository;
}

interface Row {
  prepare?: (repository: Repository) => Promise<Partial<Place>>;
  act: (repository: Repository, place: Place) => Promise<Response>;
  status: number;
  /** The status of a repeated request whose first one has had its effect. */
  repeated?: number;
  check?: (repository: Repository, place: Place) => Promise<void>;
  /** The calls that fail, for rows that take long. */
  only?: RegExp;
}

const REPOSITORY = "/v2/:owner/:name";
const UPLOAD = `${REPOSITORY}/blobs/uploads/:upload_id`;
const OWN = "/v2/auspex/models/:model_id";

const begun = async (repository: Repository) => ({ location: await repository.begin() });

const patched = (length: number) => async (repository: Repository) => {
  const [bytes, location] = [randomBytes(length), await repository.begin()];
  expect((await repository.patch(location, bytes)).status).toBe(202);
  return { location, bytes, digest: digestOf(bytes) };
};

const pushed = async (repository: Repository) => {
  const bytes = randomBytes(100);
  return { bytes, digest: await repository.push(bytes) };
};

const image = async (repository: Repository) => {
  const { digest, layers } = await repository.pushImage("other");
  return { digest, bytes: layers[0] ?? randomBytes(1) };
};

/** Continues an upload from its range, as cog and others do. */
async function goOn(repository: Repository, { location, bytes }: Place): Promise<Response> {
  const stands = await repository.send("GET", location);
  if (stands.status !== 204) return stands;
  const [, last] = (stands.headers.get("range") ?? "0--1").split(/-(.*)/);
  const offset = Number(last) + 1;
  if (offset === bytes.byteLength) return new Response(null, { status: 202 });
  return repository.chunk(location, bytes.slice(offset), offset);
}

async function isReadable(repository: Repository, { bytes, digest }: Place): Promise<void> {
  const read = await repository.blob(digest);
  // `toEqual` would take seconds for 8 MiB.
  expect(read.byteLength).toBe(bytes.byteLength);
  expect(crypto.subtle.timingSafeEqual(read, bytes)).toBe(true);
}

async function isFinished(repository: Repository, place: Place): Promise<void> {
  expect((await repository.finish(place.location, place.digest)).status).toBe(201);
  await isReadable(repository, place);
}

const isGone = (path: (place: Place) => string) => async (repository: Repository, place: Place) =>
  expect((await repository.send("GET", path(place))).status).toBe(404);

const put: Omit<Row, "prepare"> = {
  act: (repository, { location, digest }) => repository.finish(location, digest),
  status: 201,
  check: isReadable,
};

async function grant({ client, name }: Repository) {
  await newRunnerToken("cpu");
  const [token] = await run("SELECT id FROM runner_tokens ORDER BY created_at DESC, id DESC");
  const { id } = await client.ok<Model>("GET", `/v1/models/${name}`);
  const text = await signGrant(services.settings.secretKeys, {
    model_id: id,
    token_id: String(token?.id),
    expires_at: grantEnd(Date.now(), 60),
  });
  return { granted: new Repository(new Client(text), `auspex/models/${id}`) };
}

/** The requests by route. The part of a key after the comma names the case. */
const ROWS: Record<string, Row> = {
  "GET /v2": { act: ({ client }) => client.fetch("/v2", { redirect: "manual" }), status: 308 },
  "GET /v2/": { act: ({ client }) => client.fetch("/v2/"), status: 200 },
  "GET /v2/token": { act: ({ client }) => client.fetch("/v2/token"), status: 200 },
  [`POST ${REPOSITORY}/blobs/uploads`]: {
    act: (repository) => repository.send("POST", "blobs/uploads"),
    status: 202,
  },
  [`POST ${REPOSITORY}/blobs/uploads/`]: {
    act: (repository) => repository.send("POST", "blobs/uploads/"),
    status: 202,
  },
  [`POST ${REPOSITORY}/blobs/uploads/, to a new repository`]: {
    act: ({ client, name }) =>
      new Repository(client, `${name}-${Date.now()}`).send("POST", "blobs/uploads/"),
    status: 202,
  },
  [`POST ${REPOSITORY}/blobs/uploads/, whole`]: {
    act: (repository, { bytes, digest }) =>
      repository.send("POST", `blobs/uploads/?digest=${digest}`, { body: bytes }),
    status: 201,
    check: isReadable,
  },
  [`POST ${REPOSITORY}/blobs/uploads/, mount`]: {
    prepare: ({ client, name }) => pushed(new Repository(client, `${name}-source`)),
    act: (repository, { digest }) =>
      repository.send("POST", `blobs/uploads/?mount=${digest}&from=${repository.name}-source`),
    status: 201,
    check: isReadable,
  },
  [`GET ${UPLOAD}`]: {
    prepare: begun,
    act: (repository, { location }) => repository.send("GET", location),
    status: 204,
  },
  [`PATCH ${UPLOAD}`]: { prepare: begun, act: goOn, status: 202, check: isFinished },
  [`PATCH ${UPLOAD}, the second`]: {
    async prepare(repository) {
      const [bytes, location] = [randomBytes(200), await repository.begin()];
      await repository.chunk(location, bytes.slice(0, 70), 0);
      return { bytes, location, digest: digestOf(bytes) };
    },
    act: goOn,
    status: 202,
    check: isFinished,
  },
  [`PATCH ${UPLOAD}, more than a part`]: {
    async prepare(repository) {
      const bytes = randomBytes(PART_BYTES + 10);
      return { bytes, digest: digestOf(bytes), location: await repository.begin() };
    },
    act: goOn,
    status: 202,
    check: isFinished,
    only: /R2|batch/,
  },
  [`PUT ${UPLOAD}`]: { ...put, prepare: patched(100) },
  [`PUT ${UPLOAD}, of nothing`]: {
    ...put,
    prepare: async (repository) => ({
      ...(await begun(repository)),
      bytes: new Uint8Array(),
      digest: digestOf(""),
    }),
  },
  [`PUT ${UPLOAD}, of more than a part`]: {
    ...put,
    prepare: patched(PART_BYTES + 10),
    only: /R2|batch/,
  },
  [`PUT ${UPLOAD}, sha512`]: {
    ...put,
    async prepare(repository) {
      const place = await patched(100)(repository);
      return { ...place, digest: await sha512Of(place.bytes) };
    },
  },
  [`PUT ${UPLOAD}, whole`]: {
    ...put,
    prepare: begun,
    act: (repository, { location, digest, bytes }) => repository.finish(location, digest, bytes),
  },
  [`PUT ${UPLOAD}, what is there already`]: {
    ...put,
    async prepare(repository) {
      const place = await patched(100)(repository);
      await repository.push(place.bytes);
      return place;
    },
  },
  [`PUT ${UPLOAD}, something else`]: {
    prepare: patched(100),
    act: (repository, { location }) => repository.finish(location, digestOf("something else")),
    status: 400,
    repeated: 404,
    check: isGone(({ location }) => location),
  },
  [`DELETE ${UPLOAD}`]: {
    prepare: patched(100),
    act: (repository, { location }) => repository.send("DELETE", location),
    status: 204,
    repeated: 404,
    check: isGone(({ location }) => location),
  },
  [`GET ${REPOSITORY}/blobs/:digest`]: {
    prepare: pushed,
    act: (repository, { digest }) => repository.send("GET", `blobs/${digest}`),
    status: 200,
  },
  [`GET ${REPOSITORY}/blobs/:digest, HEAD of a push`]: {
    async prepare(repository) {
      const place = await pushed(repository);
      // The HEAD writes `used_at`, because the last use was a day ago.
      advance(86_400);
      return place;
    },
    act: (repository, { digest }) => repository.send("HEAD", `blobs/${digest}`),
    status: 200,
  },
  [`DELETE ${REPOSITORY}/blobs/:digest`]: {
    prepare: pushed,
    act: (repository, { digest }) => repository.send("DELETE", `blobs/${digest}`),
    status: 202,
    repeated: 404,
    check: isGone(({ digest }) => `blobs/${digest}`),
  },
  [`GET ${REPOSITORY}/manifests/:reference`]: {
    prepare: image,
    act: (repository) => repository.send("GET", "manifests/other"),
    status: 200,
  },
  [`PUT ${REPOSITORY}/manifests/:reference`]: {
    async prepare(repository) {
      const bytes = randomBytes(50);
      return { bytes, digest: await repository.push(bytes) };
    },
    act: (repository, { bytes }) => repository.putManifest("latest", manifestOf(bytes, [bytes])),
    status: 201,
    async check(repository, { bytes }) {
      const read = await repository.send("GET", "manifests/latest");
      expect(await read.text()).toBe(manifestOf(bytes, [bytes]));
      await isReadable(repository, { bytes, digest: digestOf(bytes), location: "" });
    },
  },
  [`DELETE ${REPOSITORY}/manifests/:reference`]: {
    prepare: image,
    act: (repository, { digest }) => repository.send("DELETE", `manifests/${digest}`),
    status: 202,
    repeated: 404,
    check: isGone(() => "manifests/other"),
  },
  [`DELETE ${REPOSITORY}/manifests/:reference, a tag`]: {
    prepare: image,
    act: (repository) => repository.send("DELETE", "manifests/other"),
    status: 202,
    repeated: 404,
    async check(repository, { digest }) {
      await expectError(await repository.send("GET", "manifests/other"), 404, "MANIFEST_UNKNOWN");
      expect((await repository.send("GET", `manifests/${digest}`)).status).toBe(200);
    },
  },
  [`GET ${REPOSITORY}/tags/list`]: {
    act: (repository) => repository.send("GET", "tags/list"),
    status: 200,
  },
  [`GET ${REPOSITORY}/referrers/:digest`]: {
    act: (repository, { digest }) => repository.send("GET", `referrers/${digest}`),
    status: 200,
  },
  [`GET ${OWN}/manifests/:reference`]: {
    prepare: async (repository) => ({ ...(await image(repository)), ...(await grant(repository)) }),
    act: (_, { granted, digest }) => (granted ?? expect.fail()).send("GET", `manifests/${digest}`),
    status: 200,
  },
  [`GET ${OWN}/blobs/:digest`]: {
    prepare: async (repository) => ({
      ...(await pushed(repository)),
      ...(await grant(repository)),
    }),
    act: (_, { granted, digest }) => (granted ?? expect.fail()).send("GET", `blobs/${digest}`),
    status: 200,
  },
};

test("the table has every route of the registry", () => {
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && path.startsWith("/v2"))
    .map(({ method, path }) => `${method} ${path}`);
  const named = Object.keys(ROWS).map((key) => key.split(",")[0]);
  expect([...new Set(named)].toSorted()).toEqual([...new Set(routes)].toSorted());
});

test.each(Object.entries(ROWS))(
  "%s succeeds although each of its calls fails in turn",
  { timeout: 2 * LONG.timeout },
  async (_, row) => {
    const repository = await newRepository();
    await repository.pushImage("first");
    const platform = failing();
    const ask = async (nth = 0, failure?: Failure) => {
      const bytes = randomBytes(100);
      const prepared = await row.prepare?.(repository);
      const place = { bytes, digest: digestOf(bytes), location: "", ...prepared };
      advance(CACHED_S + 1);
      platform.begin((call) => (call === nth ? failure : undefined));
      const statuses = await askedAgain(async () => {
        const response = await row.act(repository, place);
        await response.arrayBuffer().catch(() => {});
        return response;
      });
      const calls = platform.calls();
      platform.end();
      const expected = [row.status, ...(failure && row.repeated ? [row.repeated] : [])];
      const where = `${failure?.message} at ${calls[nth - 1]}, ${nth} of ${calls}: ${statuses}`;
      expect(expected, where).toContain(statuses.at(-1));
      await row.check?.(repository, place);
      return calls;
    };
    const calls = await ask();
    expect(calls).not.toEqual([]);
    for (const [n, call] of calls.entries())
      for (const failure of FAILURES) if (row.only?.test(call) ?? true) await ask(n + 1, failure);
  },
);
