/** Requests of clients that cannot be installed here, taken from their sources in November 2026. */
import { expect, test } from "vitest";
import { MAX_CHUNK_BYTES, MIN_CHUNK_BYTES } from "../../../src/domain/registry/chunk.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { registryToken } from "../../../src/protocol/registry.ts";
import { Client } from "../support/client.ts";
import { DataSet, type Manifest } from "../support/conformance.ts";
import {
  anonymous,
  type Bytes,
  bytesOf,
  digestOf,
  expectError,
  newRepository,
  Repository,
  randomBytes,
  streamOf,
} from "../support/registry.ts";

const OCTETS = { "content-type": "application/octet-stream" };
const ACCEPT = [MEDIA_TYPES.ociIndex, MEDIA_TYPES.dockerIndex, MEDIA_TYPES.ociManifest, "*/*"];

/** Logs in as all clients do: pings, and gets a token at the realm of the challenge for its password. */
async function logIn(repository: Repository): Promise<Repository> {
  const { token = "" } = repository.client;
  const ping = await anonymous.fetch("/v2/");
  const [, realm = "", service = ""] =
    /^Bearer realm="([^"]+)",service="([^"]+)"/.exec(ping.headers.get("www-authenticate") ?? "") ??
    [];
  await expectError(ping, 401, "UNAUTHORIZED");
  const query = new URLSearchParams({ service, scope: `repository:${repository.name}:pull,push` });
  const authorization = `Basic ${btoa(`any:${token}`)}`;
  const given = await anonymous.fetch(`${realm}?${query}`, { headers: { authorization } });
  return repository.as(new Client(registryToken.parse(await given.json()).token));
}

const isThere = async (repository: Repository, path: string) => {
  const { status } = await repository.send("HEAD", path, {
    headers: { accept: ACCEPT.join(", ") },
  });
  expect(status).toBeOneOf([200, 404]);
  return status === 200;
};

const expectStatus = async (answer: Response, status: number) =>
  expect(answer.status, await answer.clone().text()).toBe(status);

const putManifest = (repository: Repository, reference: string, { text, mediaType }: Manifest) =>
  repository.putManifest(reference, text, mediaType);

/** Sends a missing blob. */
type Push = (repository: Repository, digest: string, bytes: Bytes) => Promise<Response>;

/** Sends missing blobs, then manifests, the last one with the tag. Returns the number of both. */
async function pushAll(
  repository: Repository,
  set: DataSet,
  push: Push,
  tag: string,
): Promise<number> {
  let sent = 0;
  for (const [digest, bytes] of set.blobs) {
    if (await isThere(repository, `blobs/${digest}`)) continue;
    await expectStatus(await push(repository, digest, bytes), 201);
    sent++;
  }
  for (const [n, manifest] of set.manifests.entries()) {
    if (await isThere(repository, `manifests/${manifest.digest}`)) continue;
    const isLast = n === set.manifests.length - 1;
    await expectStatus(
      await putManifest(repository, isLast ? tag : manifest.digest, manifest),
      201,
    );
    sent++;
  }
  return sent;
}

/** Pushes as containerd and docker 29 do: with one PUT, whose answer must have the digest. */
const pushInOne: Push = async (repository, digest, bytes) => {
  const put = await repository.send("PUT", `${await repository.begin()}?digest=${digest}`, {
    body: bytes,
    headers: OCTETS,
  });
  expect(put.headers.get("docker-content-digest")).toBe(digest);
  return put;
};

async function expectPulled(repository: Repository, set: DataSet, tag: string): Promise<void> {
  const head = await repository.send("HEAD", `manifests/${tag}`);
  expect(head.headers.get("docker-content-digest")).toBe(set.manifests.at(-1)?.digest);
  for (const { digest, text, mediaType } of set.manifests) {
    const read = await repository.send("GET", `manifests/${digest}`);
    expect(read.headers.get("content-type")).toBe(mediaType);
    expect(await read.text()).toBe(text);
  }
  for (const [digest, bytes] of set.blobs) expect(await repository.blob(digest)).toEqual(bytes);
}

test("docker 29 and containerd push an index for one platform, and nothing twice", async () => {
  const named = await newRepository();
  // docker and containerd try a form first, and accept any of 400, 401, 404 and 405.
  const form = { method: "POST", body: new URLSearchParams({ grant_type: "password" }) };
  expect((await anonymous.fetch("/v2/token", form)).status).toBe(405);
  const repository = await logIn(named);
  const set = new DataSet();
  await set.index([await set.image()]);
  expect(await pushAll(repository, set, pushInOne, "latest")).toBe(5);
  await expectPulled(repository, set, "latest");
  expect(await pushAll(repository, set, pushInOne, "latest")).toBe(0);
  // The blobs are mounted into a second repository of the same host.
  const second = new Repository(repository.client, `${named.username}/second`);
  const mount: Push = (to, digest) =>
    to.send("POST", `blobs/uploads/?from=${repository.name}&mount=${digest}`);
  expect(await pushAll(second, set, mount, "latest")).toBe(5);
  await expectPulled(second, set, "latest");
});

test("docker 28 pushes a stream without a length, and gets the range afterwards", async () => {
  const repository = await logIn(await newRepository());
  const set = new DataSet();
  const { text } = await set.image();
  const push: Push = async (to, digest, bytes) => {
    const begun = await to.send("POST", "blobs/uploads/");
    expect(begun.headers.get("docker-upload-uuid")).toMatch(/./);
    const patched = await to.patch(begun.headers.get("location") ?? "", streamOf(bytes));
    expect(patched.status).toBe(202);
    expect(patched.headers.get("range")).toBe(`0-${bytes.byteLength - 1}`);
    const put = await to.finish(patched.headers.get("location") ?? "", digest);
    expect(await to.has(digest)).toBe(true);
    return put;
  };
  for (const [digest, bytes] of set.blobs)
    await expectStatus(await push(repository, digest, bytes), 201);
  const schema2 = text
    .replace(MEDIA_TYPES.ociManifest, MEDIA_TYPES.dockerManifest)
    .replace(MEDIA_TYPES.ociConfig, MEDIA_TYPES.dockerConfig);
  const put = await repository.putManifest("latest", schema2, MEDIA_TYPES.dockerManifest);
  await expectStatus(put, 201);
  const read = await repository.send("GET", "manifests/latest");
  expect(read.headers.get("content-type")).toBe(MEDIA_TYPES.dockerManifest);
  expect(await read.text()).toBe(schema2);
  // A pull of a layer that broke off continues with a range.
  const [digest = "", bytes = bytesOf("")] = [...set.blobs][0] ?? [];
  const rest = await repository.send("GET", `blobs/${digest}`, {
    headers: { range: "bytes=100-" },
  });
  expect(rest.status).toBe(206);
  expect(new Uint8Array(await rest.arrayBuffer())).toEqual(bytes.slice(100));
});

/** Returns the offset after the range in an answer. */
const nextIn = ({ headers }: Response) =>
  Number((headers.get("range") ?? "").split(/-(.*)/)[1]) + 1;

test("regctl mounts anonymously, and sends chunks after a failure", async () => {
  const repository = await logIn(await newRepository());
  const bytes = randomBytes(3_000);
  const digest = digestOf(bytes);
  const begun = await repository.send("POST", `blobs/uploads/?mount=${digest}`);
  expect(begun.status).toBe(202);
  expect(Number(begun.headers.get("oci-chunk-min-length"))).toBe(MIN_CHUNK_BYTES);
  const location = begun.headers.get("location") ?? "";
  const chunk = (first: number) =>
    repository.chunk(location, bytes.slice(first, first + 1_000), first);
  // A chunk out of turn is a 416, after which the client asks for the upload's range.
  await expectError(await chunk(1_000), 416, "BLOB_UPLOAD_INVALID");
  let first = nextIn(await repository.send("GET", location));
  expect(first).toBe(0);
  while (first < bytes.byteLength) {
    const patched = await chunk(first);
    expect(patched.status).toBe(202);
    first = nextIn(patched);
  }
  // Older versions send a content-range without a body.
  const put = await repository.send("PUT", `${location}?digest=${digest}`, {
    headers: { ...OCTETS, "content-length": "0", "content-range": `${first}-${first}` },
  });
  await expectStatus(put, 201);
  expect(await repository.blob(digest)).toEqual(bytes);
  const deleted = await repository.send("DELETE", `blobs/${digest}`);
  expect(deleted.status).toBe(202);
});

test("cog pushes chunks of the announced length, and weights as manifests beside the image", async () => {
  const repository = await logIn(await newRepository());
  const begun = await repository.send("POST", "blobs/uploads/");
  const most = Number(begun.headers.get("oci-chunk-max-length"));
  expect(most).toBe(MAX_CHUNK_BYTES);
  // Cog's chunks have 80 MiB each. Their length does not matter here.
  const push: Push = async (to, digest, bytes) => {
    let location = await to.begin();
    const half = Math.ceil(bytes.byteLength / 2);
    for (const first of [0, half]) {
      const patched = await to.chunk(location, bytes.slice(first, first + half), first);
      expect(patched.status).toBe(202);
      location = patched.headers.get("location") ?? "";
    }
    return to.finish(location, digest);
  };
  const set = new DataSet();
  const weightConfig = await set.blob(
    bytesOf('{"name":"base","target":"/weights","files":[]}'),
    MEDIA_TYPES.cogWeightConfig,
  );
  const weight = await set.image({
    config: weightConfig,
    artifactType: MEDIA_TYPES.cogWeight,
    layers: [await set.layer("application/vnd.oci.image.layer.v1.tar")],
    annotations: { "run.cog.weight.name": "base" },
  });
  expect(await isThere(repository, `manifests/${weight.digest}`)).toBe(false);
  await pushAll(repository, set, push, "cog-weight.base.0123456789ab");
  const model = new DataSet();
  const image = await model.image();
  await pushAll(repository, model, push, "cog-image.latest");
  const bundle = await model.index([image, weight], {});
  await expectStatus(await putManifest(repository, "latest", bundle), 201);
  const described = await repository.send("HEAD", "manifests/latest");
  expect(described.headers.get("docker-content-digest")).toBe(bundle.digest);
  expect(await isThere(repository, "manifests/cog-weight.base.0123456789ab")).toBe(true);
});
