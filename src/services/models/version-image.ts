/**
 * The image of a new version, and what the version takes from it. The request overrides the image, field by
 * field: `schemas`, `compatibilities`, and `interface` and `max_concurrency` of the configuration, which may
 * be inherited as well. Nothing is read from an image of another registry.
 */
import { NO_COMPATIBILITIES } from "../../domain/images/compatibilities.ts";
import type { ImageFacts } from "../../domain/images/image-facts.ts";
import { parseUntrusted } from "../../domain/images/openapi-document.ts";
import { UnfitImage, type WeightEntry } from "../../domain/images/select-image.ts";
import { ANY_SCHEMAS, knownOf } from "../../domain/images/server-description.ts";
import { interfaceOf } from "../../domain/models/remote.ts";
import { checkVersionSchemas, faultOfSchemas } from "../../domain/schemas/json-schema.ts";
import { upgradedVersionSchemas } from "../../domain/schemas/openapi-schemas.ts";
import { invalid, type Loc } from "../../domain/schemas/validation.ts";
import type { Configuration, CreateVersion } from "../../protocol/model.ts";
import { MEDIA_TYPES, manifest as manifestShape } from "../../protocol/oci.ts";
import { ownRepository } from "../../protocol/registry.ts";
import {
  type ImageWeight,
  MAX_WEIGHTS,
  overlapProblem,
  targetProblem,
} from "../../protocol/weights.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { findManifest } from "../../storage/registry/manifests.ts";
import { getObject } from "../../storage/registry/objects.ts";
import { type ReadImage, readImage } from "../images/read-image.ts";
import type { Services } from "../services.ts";

type Content = Pick<
  VersionRow,
  | "awaits"
  | "compatibilities"
  | "compressed_size"
  | "container_image_digest"
  | "platform"
  | "repository"
  | "schemas"
  | "weights"
>;

export interface VersionImage {
  content: Content;
  /**
   * The configuration that the image declares, which the request or the parent overrides. Undefined: the
   * image is elsewhere.
   */
  read: Configuration | undefined;
}

/**
 * Finds the image of a version. A digest with schemas may be given before its image is pushed, or be that of
 * a folder that runners have, without Docker.
 * @param elsewhere the repository of an image in another registry. Undefined: this registry
 * @throws ValidationFailure
 */
export async function versionImage(
  services: Services,
  model: DetailedModelRow,
  given: CreateVersion,
  elsewhere: string | undefined,
): Promise<VersionImage> {
  const schemas = given.schemas && upgradedVersionSchemas(given.schemas);
  const request = { ...given, schemas };
  const { compatibilities, configuration } = request;
  if (schemas) checkVersionSchemas(schemas);
  const { digest, image } = await findImage(services, model, request);
  if (!image) {
    const repository = configuration?.image ?? elsewhere ?? ownRepository(model.id);
    if (!schemas) throw missing(["body", "schemas"], NOT_READABLE);
    return {
      content: {
        container_image_digest: digest,
        repository,
        schemas,
        compatibilities: compatibilities ?? NO_COMPATIBILITIES,
        awaits: null,
        compressed_size: null,
        platform: null,
        weights: [],
      },
      read: undefined,
    };
  }
  const { facts } = image;
  const inherited = configuration ?? ownConfiguration(model.latest_version);
  if (!schemas) checkRead(facts, request);
  const known = knownOf(
    inherited.interface ? interfaceOf(inherited) : (facts.interface ?? "cog"),
    request,
    facts,
  );
  const awaits = (["schemas", "compatibilities"] as const).filter((name) => !known[name]);
  return {
    content: {
      container_image_digest: digest,
      repository: ownRepository(model.id),
      schemas: known.schemas ?? ANY_SCHEMAS,
      compatibilities: known.compatibilities ?? NO_COMPATIBILITIES,
      awaits: awaits.length > 0 ? awaits : null,
      compressed_size: facts.compressedSize,
      platform: facts.platform,
      weights: await orUnfit(weightsBeside(services, model, request, facts), placeOf(request)),
    },
    read: {
      ...(facts.interface && { interface: facts.interface }),
      ...(facts.maxConcurrency && { max_concurrency: facts.maxConcurrency }),
    },
  };
}

const NOT_READABLE =
  "the image is not in this deployment's registry, so `schemas` is required. Send `schemas`, or push the image to this registry";

/** Finds the image. If the request names its repository, the image is elsewhere. */
async function findImage(
  services: Services,
  model: DetailedModelRow,
  { image: reference, container_image_digest: digest, configuration }: CreateVersion,
): Promise<{ digest: string; image: ReadImage | undefined }> {
  if (reference === undefined) {
    if (digest === undefined)
      throw missing(
        ["body", "container_image_digest"],
        "or an `image` of this deployment's registry",
      );
    if (configuration?.image !== undefined) return { digest, image: undefined };
    const read = readImage(services, model.id, digest);
    return { digest, image: await orUnfit(read, ["body", "container_image_digest"]) };
  }
  if (digest !== undefined)
    throw invalid(["body", "container_image_digest"], "Omit it. `image` already sets the image");
  if (configuration?.image !== undefined) {
    const message = "Omit it. `image` refers to the model's own repository";
    throw invalid(["body", "configuration", "image"], message);
  }
  const place: Loc = ["body", "image"];
  const image = await orUnfit(readImage(services, model.id, reference), place);
  if (image) return { digest: image.digest, image };
  const path = `${model.owner.username}/${model.name}`;
  throw invalid(place, `'${reference}' was not found in the repository ${path}. Push it first`);
}

async function orUnfit<Read>(reading: Promise<Read>, place: Loc): Promise<Read> {
  try {
    return await reading;
  } catch (error) {
    throw error instanceof UnfitImage ? invalid(place, error.message) : error;
  }
}

/** Reads the weights that the image's index names. @throws UnfitImage */
function weightsBeside(
  services: Services,
  { id }: DetailedModelRow,
  { configuration }: CreateVersion,
  { weights, expectsWeights }: ImageFacts,
): Promise<ImageWeight[]> {
  const hasSome = weights.length > 0 || configuration?.weights !== undefined;
  if (hasSome || !expectsWeights) return readWeights(services, id, weights);
  return Promise.reject(
    new UnfitImage(
      "Its Cog managed weights are missing. Use the tag that `cog push` pushed, not the image inside it.",
    ),
  );
}

/** Requires the schemas of an image whose own cannot be used: nobody else could correct them. */
function checkRead({ schemas, schemasFault }: ImageFacts, request: CreateVersion): void {
  const fault = schemasFault ?? (schemas && faultOfSchemas(schemas));
  if (fault === undefined) return;
  throw invalid(
    placeOf(request),
    `The schemas in the image's labels are invalid: ${fault}. Send \`schemas\``,
  );
}

/** The place of the field that names the image, for validation errors. */
const placeOf = ({ image }: CreateVersion): Loc => [
  "body",
  image === undefined ? "container_image_digest" : "image",
];

const missing = (place: Loc, why: string) => invalid(place, `Field required: ${why}`, "missing");

/** The configuration that a version hands on: without what was read from its image. */
export const ownConfiguration = (row: VersionRow | null): Configuration =>
  row?.own_configuration ?? row?.configuration ?? {};

/** @throws UnfitImage if a runner could not mount them */
async function readWeights(
  services: Services,
  modelId: string,
  entries: readonly WeightEntry[],
): Promise<ImageWeight[]> {
  if (entries.length > MAX_WEIGHTS) {
    throw new UnfitImage(`It has ${entries.length} weights. At most ${MAX_WEIGHTS} are allowed.`);
  }
  const weights: ImageWeight[] = [];
  // Manifests are read one after the other: each may have 4 MB.
  for (const entry of entries) weights.push(await readWeight(services, modelId, entry));
  const problem = overlapProblem(weights.map(({ target }) => target));
  if (problem) throw new UnfitImage(`Its weights cannot be mounted: ${problem}.`);
  return weights;
}

async function readWeight(
  { db, env }: Services,
  modelId: string,
  { digest, name, size = 0 }: WeightEntry,
): Promise<ImageWeight> {
  const found = await findManifest(db, modelId, digest);
  const object = found && (await getObject(env.IMAGES, found.key));
  const what = `Its weights '${name}'`;
  if (!object) throw new UnfitImage(`${what} are not in the registry. Push them again.`);
  const { data } = manifestShape.safeParse(parseUntrusted(await object.text()));
  const target = data?.annotations["run.cog.weight.target"];
  if (data?.config.mediaType !== MEDIA_TYPES.cogWeightConfig || target === undefined) {
    throw new UnfitImage(`${what} are not in Cog's format. Push them again.`);
  }
  const problem = targetProblem(target);
  if (problem) throw new UnfitImage(`${what} cannot be mounted at '${target}': ${problem}.`);
  return { name, target, manifest: digest, size };
}
