/** The configuration of remote versions, and what a version has in place of an image. */
import { NO_COMPATIBILITIES } from "../../domain/images/compatibilities.ts";
import { ANY_SCHEMAS, derived } from "../../domain/images/server-description.ts";
import { interfaceOf } from "../../domain/models/remote.ts";
import { checkVersionSchemas } from "../../domain/schemas/json-schema.ts";
import { upgradedVersionSchemas } from "../../domain/schemas/openapi-schemas.ts";
import { invalid, type Loc } from "../../domain/schemas/validation.ts";
import { urlRefusal } from "../../domain/webhooks/address.ts";
import type {
  Compatibilities,
  Configuration,
  CreateVersion,
  RemoteApi,
} from "../../protocol/model.ts";
import type { Services } from "../services.ts";
import type { VersionImage } from "./version-image.ts";

const CONFIGURATION: Loc = ["body", "configuration"];

/** The fields that a remote version may have: the others are about its containers. */
const FIELDS = ["interface", "remote", "timeout_seconds"];

/** The calls that a remote object can make, by the API of the host. The first are the default. */
const CALLS: Record<RemoteApi, readonly (keyof Compatibilities)[]> = {
  openai: [
    ...(["vendora_chat_completions", "vendora_responses", "vendora_embeddings"] as const),
    ...(["vendora_completions", "vendora_moderations", "vendora_rerank"] as const),
    ...(["vendora_images_generations", "vendora_images_edits"] as const),
    ...(["vendora_audio_speech", "vendora_audio_transcriptions"] as const),
    "vendora_audio_translations",
  ],
  anthropic: ["vendorb_messages"],
  replicate: [],
};

/**
 * Checks the configuration that a new version has, given or inherited.
 * @returns whether the version is remote
 * @throws ValidationFailure
 */
export function checkRemote(
  { settings }: Services,
  { image, container_image_digest: digest, compatibilities }: CreateVersion,
  configuration: Configuration,
): boolean {
  const { interface: spoken, remote, local_only } = configuration;
  if (spoken !== "remote") {
    if (!remote) return false;
    throw invalid([...CONFIGURATION, "interface"], "Set it to 'remote', or omit `remote`");
  }
  if (!remote)
    throw invalid([...CONFIGURATION, "remote"], "Field required: the host of the model", "missing");
  if (local_only)
    throw invalid(
      [...CONFIGURATION, "local_only"],
      "Omit it. A remote version sends its inputs to its host",
    );
  for (const [place, value] of Object.entries({ image, container_image_digest: digest }))
    if (value !== undefined)
      throw invalid(
        ["body", place],
        "Omit it, because a remote version has no image. To publish an image, send `configuration` with another `interface`",
      );
  const other = Object.keys(configuration).find((name) => !FIELDS.includes(name));
  if (other !== undefined)
    throw invalid(
      [...CONFIGURATION, other],
      `Omit it, because a remote version has no container. It can have ${FIELDS.join(", ")}`,
    );
  const refusal = urlRefusal(new URL(remote.url), settings.webhooks.allowInsecure);
  if (refusal) throw invalid([...CONFIGURATION, "remote", "url"], `It cannot be used: ${refusal}`);
  if (/[?#]/.test(remote.url))
    throw invalid([...CONFIGURATION, "remote", "url"], "Omit the query. Paths are appended to it");
  const unknown = Object.entries(compatibilities ?? {}).find(
    ([name, isSet]) => isSet && !CALLS[remote.api].some((one) => one === name),
  );
  if (unknown)
    throw invalid(
      ["body", "compatibilities", unknown[0]],
      `Omit it. Remote versions with the API '${remote.api}' can have ${CALLS[remote.api].join(", ") || "none"}`,
    );
  return true;
}

/** @throws ValidationFailure for invalid schemas */
export function remoteContent(
  { schemas: given, compatibilities }: CreateVersion,
  configuration: Configuration,
): VersionImage {
  const api = configuration.remote?.api ?? "openai";
  const schemas = given && upgradedVersionSchemas(given);
  if (schemas) checkVersionSchemas(schemas);
  const [call] = CALLS[api];
  const known = derived(interfaceOf(configuration), {
    schemas,
    compatibilities:
      compatibilities ?? (call && { ...NO_COMPATIBILITIES, [call]: true }) ?? undefined,
  });
  return {
    content: {
      container_image_digest: "",
      repository: "",
      schemas: known.schemas ?? ANY_SCHEMAS,
      compatibilities: known.compatibilities ?? NO_COMPATIBILITIES,
      awaits: null,
      compressed_size: null,
      platform: null,
      weights: [],
    },
    read: undefined,
  };
}
