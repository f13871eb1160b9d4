/** Plans of requests to the registry: those of clients, near misses, and others. */
import fc from "fast-check";
import { MEDIA_TYPES } from "../../../../src/protocol/oci.ts";
import { bytesOf, digestOf, manifestOf, streamOf } from "../registry.ts";

/** Names and locations that requests use; `locations` grows with each upload that begins. */
export interface Known {
  names: string[];
  locations: string[];
}

export interface RegistryPlan {
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
export const registryPlans = (callers: number): fc.Arbitrary<RegistryPlan> =>
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
