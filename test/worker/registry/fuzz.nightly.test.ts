/** Thousands of random requests to the registry, whose answers must have a registry's form. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { Client } from "../support/client.ts";
import { registryFaults } from "../support/fuzz/registry-verdict.ts";
import {
  anonymous,
  bytesOf,
  digestOf,
  manifestOf,
  newRepository,
  streamOf,
} from "../support/registry.ts";
import { expectExactBytes, expectExactObjects, weeksLater } from "../support/registry-audit.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newClient, newUser } from "../support/world.ts";

/** Names and locations that requests use; `locations` grows with each upload that begins. */
interface Known {
  names: string[];
  locations: string[];
}

interface RegistryPlan {
  method: string;
  path: (known: Known) => string;
  query: Query;
  headers: Record<string, string>;
  body: Body;
  caller: number;
}

const CONTENTS = ["", "a", "layer one", "layer two", "x".repeat(70_000)].map(bytesOf);
const [CONFIG = bytesOf(""), ...LAYERS] = CONTENTS.slice(1);

const described = (text: string, mediaType: string) => ({
  mediaType,
  digest: digestOf(text),
  size: text.length,
});

const IMAGES = [
  manifestOf(CONFIG, LAYERS.slice(0, 1)),
  manifestOf(CONFIG, [], {
    subject: described("nowhere", MEDIA_TYPES.ociManifest),
    artifactType: "application/x.test",
    annotations: { note: "1" },
  }),
];
const INDEX = JSON.stringify({
  schemaVersion: 2,
  mediaType: MEDIA_TYPES.ociIndex,
  manifests: IMAGES.map((text) => described(text, MEDIA_TYPES.ociManifest)),
});

const MANIFESTS = [
  ...IMAGES,
  INDEX,
  ...["", "null", "[]", "{}", '{"schemaVersion":2}', "{", `${"[".repeat(50_000)}`, '"\\ud800"'],
  IMAGES[0]?.replace('"size":', '"size":-') ?? "",
  IMAGES[0]?.replace('"layers":', '"layers":null,"others":') ?? "",
  IMAGES[0]?.replaceAll("sha256:", "sha256:0") ?? "",
  INDEX.replace(/"manifests":.*/, '"manifests":null}'),
];

const DIGESTS = [...CONTENTS.map(digestOf), ...[...IMAGES, INDEX].map((text) => digestOf(text))];
const ODD_DIGESTS = ["sha256:0", "sha512:", "md5:0", ":", "sha256:%00", "SHA256:", "uploads"];
const TAGS = [
  "latest",
  "v1",
  "a".repeat(128),
  "b".repeat(129),
  ".x",
  "%20",
  "%E0%A4%A",
  "__proto__",
];
const RANGES = ["0-0", "0-8", "0-69999", "9-17", "5-3", "bytes 0-0/1", "x", "0-99999999999999999"];

const oneOf = <T>(...values: T[]) => fc.constantFrom(...values);
const digests = fc.oneof({ weight: 6, arbitrary: oneOf(...DIGESTS) }, oneOf(...ODD_DIGESTS));
const references = fc.oneof(
  { weight: 2, arbitrary: oneOf(...TAGS.slice(0, 3)) },
  oneOf(...TAGS.slice(3)),
  digests,
);

const below = (part: fc.Arbitrary<string>, prefix: string) =>
  fc.tuple(fc.nat(100), part).map(([nth, text]) => (known: Known) => {
    const name = known.names[nth % known.names.length];
    return `/v2/${name}/${prefix}${text}`;
  });

const addresses = fc.oneof(
  { weight: 3, arbitrary: below(fc.constant(""), "blobs/uploads/") },
  {
    weight: 8,
    arbitrary: fc.nat(100).map((nth) => ({ locations }: Known) => {
      // Most plans use one of the last five.
      const some = locations.slice(-5);
      return some[nth % some.length] ?? "/v2/ada/story/blobs/uploads/none";
    }),
  },
  { weight: 5, arbitrary: below(digests, "blobs/") },
  { weight: 8, arbitrary: below(references, "manifests/") },
  { weight: 1, arbitrary: below(fc.constant(""), "tags/list") },
  { weight: 2, arbitrary: below(digests, "referrers/") },
  oneOf(...["/v2/", "/v2", "/v2/token", "/v2/_catalog", "/v2/auspex/models/x/tags/list"]).map(
    (path) => () => path,
  ),
);

const parameters: fc.Arbitrary<[string, string]> = fc.oneof(
  fc.tuple(fc.constant("digest"), digests),
  fc.tuple(fc.constant("mount"), digests),
  fc.tuple(fc.constant("from"), oneOf("nobody/nothing", "x", "a/b/c", "")),
  fc.tuple(fc.constant("n"), oneOf("0", "1", "2", "-1", "x", "1e9", "")),
  fc.tuple(fc.constant("last"), oneOf("latest", "\0", "zz", "")),
  fc.tuple(fc.constant("tag"), oneOf(...TAGS)),
  fc.tuple(fc.constant("artifactType"), oneOf("application/x.test", "x", "")),
);

const headers = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  oneOf(...RANGES).map((range) => ({ "content-range": range })),
  oneOf("bytes=0-0", "bytes=5-", "bytes=-3", "bytes=9-2", "bytes=99999999-", "x").map((range) => ({
    range,
  })),
  digests.map((digest) => ({ "if-none-match": `"${digest}"` })),
  oneOf(...Object.values(MEDIA_TYPES), "application/json", "multipart/form-data", "x").map(
    (type) => ({ "content-type": type }),
  ),
);

type Query = [string, string][];
type Body = () => BodyInit | null;
interface Content {
  query: Query;
  body: Body;
}

const bodies: fc.Arbitrary<Body> = fc.oneof(
  fc.constant(() => null),
  oneOf(...CONTENTS).map((bytes) => () => streamOf(bytes, bytes)),
  oneOf(...MANIFESTS).map((text) => () => bytesOf(text)),
);

/** A body and its digest, or any other body. */
const contents: fc.Arbitrary<Content> = fc.oneof(
  oneOf(...CONTENTS).map(
    (bytes): Content => ({ query: [["digest", digestOf(bytes)]], body: () => bytes }),
  ),
  oneOf(...IMAGES, INDEX).map((text): Content => ({ query: [], body: () => bytesOf(text) })),
  fc.record({ query: fc.array(parameters, { maxLength: 2 }), body: bodies }),
);

/** Methods that add outnumber those that delete, so that requests find something. */
const METHODS = ["GET", "GET", "HEAD", "POST", "POST", "PATCH", "PATCH", "DELETE"].concat(
  Array<string>(5).fill("PUT"),
);

/** @param callers the number of callers */
const registryPlans = (callers: number): fc.Arbitrary<RegistryPlan> =>
  fc
    .record({
      contents,
      method: oneOf(...METHODS),
      path: addresses,
      headers,
      // Most plans use the first caller.
      caller: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(callers - 1)),
    })
    .map(({ contents, ...rest }) => ({ ...rest, ...contents }));

const SEED = 20_261_126;
const REQUESTS = 8_000;
const AT_ONCE = 8;

beforeAll(stopClock);
afterAll(startClock);

const own = await newRepository();
const second = await newRepository();
await second.pushImage();
await second.client.ok("PATCH", `/v1/models/${second.name}`, { visibility: "public" });
const hidden = await newRepository();
await hidden.pushImage();

const known: Known = {
  // Most requests go to the first repository.
  names: Array<string>(16)
    .fill(own.name)
    .concat(
      `${own.username}/other`,
      second.name,
      hidden.name,
      "nobody/nothing",
      `${own.username}/Upper`,
      `${own.username}/${"x".repeat(200)}`,
      "x/%2e%2e",
    ),
  locations: [],
};

const callers: Client[] = [
  own.client,
  second.client,
  await newClient(own.username, { scopes: ["read"] }),
  await newClient(own.username, { scopes: ["predict"] }),
  (await newUser()).client,
  anonymous,
  new Client("anonymous"),
  new Client("aus_wrong"),
  new Client("a.b.c.d"),
];

const faults: string[] = [];
/** The combinations that occurred, as `method kind status`. */
const seen = new Set<string>();

async function send({ method, path, query, headers, body, caller }: RegistryPlan): Promise<void> {
  const client = callers[caller] ?? anonymous;
  const search = new URLSearchParams(query).toString();
  const url = `${path(known)}${search && `?${search}`}`;
  const sent = ["GET", "HEAD"].includes(method) ? null : body();
  const response = await client.fetch(url, { method, headers, body: sent, redirect: "manual" });
  const location = response.headers.get("location");
  if (location?.includes("/uploads/")) known.locations.push(location);
  const text = await response.arrayBuffer().then((bytes) => new TextDecoder().decode(bytes));
  const [, kind] =
    /\/(uploads|(?:blobs|manifests|tags|referrers)(?=\/(?!uploads)))/.exec(url) ?? [];
  seen.add(`${method} ${kind} ${response.status}`);
  for (const fault of faultsOf(method, response, text))
    faults.push(`${fault}: ${method} ${url} ${JSON.stringify(headers)} ${caller}
      ${response.status} ${text.slice(0, 500)}`);
}

function* faultsOf(method: string, { status, headers }: Response, text: string) {
  yield* registryFaults({ status, headers, text });
  if (method === "HEAD" && text !== "") yield "HEAD with a body";
  if (!headers.get("x-request-id")) yield "no x-request-id";
  if (/D1_ERROR|SQLITE|^\s+at \S+ \(/m.test(text)) yield "shows its inside";
  if (callers.some(({ token }) => token && token.length > 20 && text.includes(token)))
    if (!text.includes('"access_token"')) yield "shows a token";
  if (status === 401 && !headers.get("www-authenticate")?.startsWith("Bearer realm="))
    yield "401 without a challenge";
  if (status === 405 && !headers.get("allow")) yield "405 without Allow";
  if (status >= 400 && headers.get("cache-control") !== "no-store") yield "a cacheable error";
}

test(`${REQUESTS} random requests have valid answers`, { timeout: 3_600_000 }, async () => {
  const plans = fc
    .sample(registryPlans(callers.length), { numRuns: REQUESTS, seed: SEED })
    .values();
  const worker = async () => {
    for (const plan of plans) await send(plan);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(faults).toEqual([]);
});

test("random requests reach all kinds of answers", () => {
  const wanted = [
    ...["POST uploads 201", "POST uploads 202", "PATCH uploads 202", "PATCH uploads 416"],
    ...["PUT uploads 201", "PUT uploads 400", "DELETE uploads 204", "GET uploads 204"],
    ...["GET blobs 200", "GET blobs 206", "HEAD blobs 200"],
    ...["DELETE blobs 202", "DELETE blobs 409", "PUT manifests 201", "PUT manifests 404"],
    ...["GET manifests 200", "HEAD manifests 200", "DELETE manifests 202", "GET tags 200"],
    ...["GET referrers 200", "PUT manifests 400", "GET manifests 401", "PUT manifests 403"],
  ];
  expect(wanted.filter((one) => !seen.has(one))).toEqual([]);
});

test("random requests leave other users' images unchanged, and no garbage", async () => {
  for (const repository of [second, hidden]) {
    const read = await repository.send("GET", "manifests/latest");
    expect(read.headers.get("docker-content-digest")).toBe(digestOf(await read.text()));
  }
  await weeksLater();
  await expectExactObjects();
  await expectExactBytes();
});
