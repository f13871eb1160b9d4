/** The description of a running server by itself, for a version whose image did not state its calls. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { type Compatibilities, newCompatibilities, type Schemas } from "../../protocol/model.ts";
import type { ContainerInterface, ServerDescription } from "../../protocol/runner.ts";
import { cogCompatibilities, NO_COMPATIBILITIES } from "./compatibilities.ts";
import { conventionSchemas } from "./convention-schemas.ts";
import { cogSchemas, parseUntrusted, type ReadSchemas, readOpenapi } from "./openapi-document.ts";

export interface Described {
  schemas: Schemas;
  compatibilities: Compatibilities;
}

export interface DescribedVersion extends Described {
  fault?: string | undefined;
}

export type Known = { [Name in keyof Described]?: Described[Name] | undefined };

/** Schemas of any object, and any output: a server that does not describe more checks its input itself. */
export const ANY_SCHEMAS: Schemas = {
  prediction: { input: { type: "object" }, output: {}, stream_output: false },
};

/** The known parts of a version before its server has started; given parts override its image's. */
export function knownOf(spoken: ContainerInterface, given: Known, image: Known): Known {
  const { schemas, compatibilities } = given;
  return derived(spoken, {
    schemas: schemas ?? image.schemas,
    compatibilities: compatibilities ?? (schemas ? undefined : image.compatibilities),
  });
}

/** Adds parts that follow from others. Undefined: not known before the server describes itself. */
export function derived(spoken: ContainerInterface, known: Known): Known {
  const { schemas, compatibilities } = known;
  if (spoken === "vendora")
    return {
      compatibilities,
      schemas: schemas ?? (compatibilities && conventionSchemas(compatibilities)),
    };
  return { schemas, compatibilities: compatibilities ?? (schemas && cogCompatibilities(schemas)) };
}

export function described(
  spoken: ContainerInterface,
  known: Known,
  description: ServerDescription,
): DescribedVersion {
  const { fault, ...found }: Known & ReadSchemas =
    spoken === "vendora" ? openAiServer(description) : cogServer(description);
  // The known parts are used to derive the others, too.
  const all = derived(spoken, { ...found, ...defined(known) });
  return {
    schemas: all.schemas ?? ANY_SCHEMAS,
    compatibilities: all.compatibilities ?? NO_COMPATIBILITIES,
    ...(!known.schemas && fault !== undefined && { fault }),
  };
}

const defined = ({ schemas, compatibilities }: Known): Known => ({
  ...(schemas && { schemas }),
  ...(compatibilities && { compatibilities }),
});

function cogServer({ openapi }: ServerDescription): ReadSchemas {
  const document = openapi === undefined ? undefined : readOpenapi(openapi);
  return document ? cogSchemas(document) : {};
}

/** The addresses of OpenAI's and Anthropic's APIs, by the compatibility that says that a server has one. */
export const PATHS = {
  vendora_chat_completions: "/v1/chat/completions",
  vendora_images_generations: "/v1/images/generations",
  vendora_embeddings: "/v1/embeddings",
  vendora_responses: "/v1/responses",
  vendorb_messages: "/v1/messages",
  vendora_images_edits: "/v1/images/edits",
  vendora_audio_transcriptions: "/v1/audio/transcriptions",
  vendora_audio_translations: "/v1/audio/translations",
  vendora_audio_speech: "/v1/audio/speech",
  vendora_completions: "/v1/completions",
  vendora_moderations: "/v1/moderations",
  vendora_rerank: "/v1/rerank",
} as const satisfies Record<keyof Compatibilities, string>;

function openAiServer(description: ServerDescription): Known {
  const { openapi, models, info } = description;
  const paths = openapi === undefined ? [] : (readOpenapi(openapi)?.paths ?? []);
  const documented = Object.entries(PATHS).filter(([, path]) => paths.includes(path));
  if (documented.length > 0) {
    const flags = Object.fromEntries(documented.map(([flag]) => [flag, true]));
    return withResponses(newCompatibilities.parse(flags));
  }
  const { model_id: id, model_type: type } = fieldsOf(info);
  // TEI states what its model is for; classifiers have no call here.
  if (type !== undefined)
    return withResponses({
      ...NO_COMPATIBILITIES,
      vendora_embeddings: isOf(type, "embedding"),
      vendora_rerank: isOf(type, "reranker"),
    });
  // TGI and llama.cpp have no document. llama.cpp does not tell whether it was started to embed or rank.
  const { data } = fieldsOf(models);
  const isLlama = Array.isArray(data) && data.some(isOwnedByLlama);
  const isTgi = typeof id === "string";
  return withResponses({
    ...NO_COMPATIBILITIES,
    vendora_chat_completions: isTgi || Array.isArray(data),
    vendora_completions: isTgi || isLlama,
  });
}

const isOf = (type: Json, kind: string) => type === kind || (isObject(type) && kind in type);

const isOwnedByLlama = (model: Json) => isObject(model) && model.owned_by === "llamacpp";

/** Adds responses: runners translate a responses call for a server that has only chats. */
const withResponses = (found: Compatibilities): Known => ({
  compatibilities: {
    ...found,
    vendora_responses: found.vendora_responses || found.vendora_chat_completions,
  },
});

function fieldsOf(text: string | undefined): { [name: string]: Json } {
  const value = text === undefined ? undefined : parseUntrusted(text);
  return isObject(value) ? value : {};
}
