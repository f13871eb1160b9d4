/** Code samples that make the same call as the playground. */
import type { Compatibilities } from "../../../protocol/model.ts";
import { type ApiId, BODIES, type Input } from "./bodies.ts";
import { JAVASCRIPT } from "./javascript.ts";
import { PYTHON } from "./python.ts";
import { shellSample } from "./shell.ts";

export interface SampleOptions {
  /** Scheme and host of the deployment. */
  origin: string;
  /** `owner/name`. */
  model: string;
  /** Number of the version; absent for always the latest. */
  version?: number | undefined;
  input: Input;
  /** The input as each call has it; made from `input` where it is absent. */
  inputs?: Partial<Record<ApiId, Input>>;
  compatibilities: Compatibilities;
}

export type Language = "python" | "js" | "curl";

export const LANGUAGES: Record<Language, string> = {
  python: "Python",
  js: "JavaScript",
  curl: "curl",
};

export interface CodeSample {
  /** Id made of the call and the language. */
  id: string;
  title: string;
  language: Language;
  /** Needs only AUSPEX_TOKEN in the environment. */
  code: string;
}

interface Api {
  id: ApiId;
  title: string;
  isOpenTo(can: Compatibilities): boolean;
}

const APIS: Api[] = [
  { id: "predictions", title: "Predictions", isOpenTo: () => true },
  { id: "chat", title: "OpenAI chat", isOpenTo: (can) => can.vendora_chat_completions },
  { id: "responses", title: "OpenAI responses", isOpenTo: (can) => can.vendora_responses },
  {
    id: "messages",
    title: "Anthropic messages",
    isOpenTo: (can) => can.vendorb_messages || can.vendora_chat_completions,
  },
  { id: "embeddings", title: "OpenAI embeddings", isOpenTo: (can) => can.vendora_embeddings },
  { id: "images", title: "OpenAI images", isOpenTo: (can) => can.vendora_images_generations },
  { id: "edits", title: "OpenAI image edits", isOpenTo: (can) => can.vendora_images_edits },
  { id: "speech", title: "OpenAI speech", isOpenTo: (can) => can.vendora_audio_speech },
  {
    id: "transcriptions",
    title: "OpenAI transcriptions",
    isOpenTo: (can) => can.vendora_audio_transcriptions,
  },
];

/**
 * Returns a sample per language and API that can call the model. The API of predictions is last for a chat:
 * official clients return an answer, and a prediction the server's whole response.
 */
export function codeSamples(options: SampleOptions): CodeSample[] {
  const { origin, model, version, input, inputs = {}, compatibilities } = options;
  const reference = version === undefined ? model : `${model}:${version}`;
  const open = APIS.filter((api) => api.isOpenTo(compatibilities));
  const isChat = open.some(({ id }) => id === "chat");
  const ordered = isChat ? [...open.slice(1), ...open.slice(0, 1)] : open;
  return ordered.flatMap(({ id, title }) => {
    const body = BODIES[id]({ origin, reference, input: inputs[id] ?? input });
    const sample = (language: Language, code: string): CodeSample => ({
      id: `${id}-${language}`,
      title,
      language,
      code,
    });
    return [
      sample("python", PYTHON[id](origin, body)),
      sample("js", JAVASCRIPT[id](origin, body)),
      sample("curl", shellSample(id, origin, body)),
    ];
  });
}
