/** Code samples that make the same call as the playground. */

import { readableJson } from "../../../lib/text.ts";
import type { Json } from "../../../protocol/common.ts";
import type { Compatibilities } from "../../../protocol/model.ts";
import { type ApiId, BODIES, type Input } from "./bodies.ts";
import { JAVASCRIPT } from "./javascript.ts";
import { plainText } from "./literal.ts";
import { PYTHON } from "./python.ts";

export interface SampleOptions {
  origin: string;
  /** `owner/name`. */
  model: string;
  /** Number of the version; absent for always the default version. */
  version?: number | undefined;
  /** The version's ID for Replicate's clients, if `version` is there: they send no model beside it. */
  versionId?: string | undefined;
  input: Input;
  /** The input as each call has it; made from `input` where it is absent. */
  inputs?: Partial<Record<ApiId, Input>>;
  compatibilities: Compatibilities;
  /** Whether the output is text that comes in parts. */
  streams: boolean;
}

export type Language = "python" | "js" | "curl" | "http";

export const LANGUAGES: Record<Language, string> = {
  python: "Python",
  js: "JavaScript",
  curl: "curl",
  http: "HTTP",
};

export interface CodeSample {
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
  const {
    origin,
    model,
    version,
    versionId,
    input,
    inputs = {},
    compatibilities,
    streams,
  } = options;
  const reference = version === undefined ? model : `${model}:${version}`;
  const open = APIS.filter((api) => api.isOpenTo(compatibilities));
  const isChat = open.some(({ id }) => id === "chat");
  const ordered = isChat ? [...open.slice(1), ...open.slice(0, 1)] : open;
  return ordered.flatMap(({ id, title }) => {
    const call = { origin, reference, input: inputs[id] ?? input };
    const body = BODIES[id](call);
    const isPinned = id === "predictions" && versionId !== undefined;
    const clientBody = isPinned
      ? BODIES[id]({ ...call, reference: `${model}:${versionId}` })
      : body;
    const sample = (language: Language, code: string): CodeSample => ({
      id: `${id}-${language}`,
      title,
      language,
      code,
    });
    return [
      sample("python", PYTHON[id](origin, clientBody, streams)),
      sample("js", JAVASCRIPT[id](origin, clientBody, streams)),
      sample("curl", shellSample(id, origin, body)),
      sample("http", httpSample(id, origin, body)),
    ];
  });
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export function shellSample(id: ApiId, origin: string, asked: Input): string {
  const file = FILES[id];
  const body = ofShell(id, asked);
  const lines = [
    `curl ${body.stream === true ? "-N " : ""}${quoted(origin + PATHS[id])}`,
    `-H "Authorization: Bearer $AUSPEX_TOKEN"`,
    ...headersOf(id).map((header) => `-H ${quoted(header)}`),
    ...(file === undefined
      ? ["-H 'Content-Type: application/json'", `-d ${quoted(readableJson(body))}`]
      : [...Object.entries(body).map(formField), `-F ${file}`]),
    ...(id === "speech" ? [`-o speech.${body.response_format}`] : []),
  ];
  return lines.join(" \\\n  ");
}

/** The request as it is sent. A form is for clients, since it has the bytes of a file. */
function httpSample(id: ApiId, origin: string, asked: Input): string {
  const body = readableJson(ofShell(id, asked));
  const isForm = FILES[id] !== undefined;
  return [
    `POST ${PATHS[id]} HTTP/1.1`,
    `Host: ${new URL(origin).host}`,
    "Authorization: Bearer $AUSPEX_TOKEN",
    ...headersOf(id),
    `Content-Type: ${isForm ? "multipart/form-data; boundary=part" : "application/json"}`,
    "",
    ...(isForm ? formLines(id, asked) : [body]),
  ].join("\n");
}

const formLines = (id: ApiId, body: Input): string[] => [
  ...Object.entries(ofShell(id, body)).flatMap(([name, value]) => [
    "--part",
    `Content-Disposition: form-data; name="${name}"`,
    "",
    plainText(value),
  ]),
  "--part",
  `Content-Disposition: form-data; name="${FILES[id]?.replace("=@", '"; filename="')}"`,
  "",
  "(the bytes of the file)",
  "--part--",
];

/** The headers of a call besides its token and its type. */
const headersOf = (id: ApiId): string[] => {
  if (id === "messages") return ["anthropic-version: 2023-06-01"];
  return id === "predictions" ? ["Prefer: wait", "Validate-Input: true"] : [];
};

const FILES: Partial<Record<ApiId, string>> = {
  edits: "image=@picture.png",
  transcriptions: "file=@speech.wav",
};

/** Not by `-F`, which reads a value that begins with @ or < as the name of a file. */
const formField = ([name, value]: [string, Json]) =>
  `--form-string ${quoted(`${name}=${plainText(value)}`)}`;

function ofShell(id: ApiId, body: Input): Input {
  // The clients stream messages by a call of their own.
  if (id === "messages") return { ...body, stream: true };
  // A terminal shows an address, and would be full of base64.
  return id === "images" || id === "edits" ? { ...body, response_format: "url" } : body;
}

const PATHS: Record<ApiId, string> = {
  predictions: "/v1/predictions",
  chat: "/openai/v1/chat/completions",
  responses: "/openai/v1/responses",
  messages: "/anthropic/v1/messages",
  embeddings: "/openai/v1/embeddings",
  images: "/openai/v1/images/generations",
  edits: "/openai/v1/images/edits",
  speech: "/openai/v1/audio/speech",
  transcriptions: "/openai/v1/audio/transcriptions",
};
