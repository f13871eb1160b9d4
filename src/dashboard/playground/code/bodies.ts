/** The body of each call for the same input: inputs of models have names of their own. */
import { isObject } from "../../../lib/json.ts";
import type { Json } from "../../../protocol/common.ts";

export type Input = { [name: string]: Json };

export type ApiId =
  | "predictions"
  | "chat"
  | "responses"
  | "messages"
  | "embeddings"
  | "images"
  | "edits"
  | "speech"
  | "transcriptions";

export interface Call {
  origin: string;
  /** `owner/name` or `owner/name:number`. */
  reference: string;
  input: Input;
}

/** The limit of messages without their own: Anthropic's API requires one. */
export const DEFAULT_MAX_TOKENS = 1000;

const HELLO = "Who are you?";

export const BODIES: Record<ApiId, (call: Call) => Input> = {
  predictions: ({ reference, input }) => ({ model: reference, input }),
  chat: ({ reference, input }) => {
    const { model, stream, messages, prompt, input: text, ...rest } = input;
    if (Array.isArray(messages)) return { ...input, model: reference, stream: true };
    const content = textAmong(prompt, text) ?? HELLO;
    return { model: reference, messages: [{ role: "user", content }], ...rest, stream: true };
  },
  responses: ({ reference, input }) => {
    const { model, stream, messages, prompt, input: text, ...rest } = input;
    const said = [text, messages].find(Array.isArray) ?? textAmong(text, prompt) ?? HELLO;
    return { model: reference, input: said, ...rest, stream: true };
  },
  messages: ({ reference, input }) => {
    const { model, stream, messages, prompt, input: text, max_tokens, ...rest } = input;
    const all = Array.isArray(messages)
      ? messages
      : [{ role: "user", content: textAmong(prompt, text) ?? HELLO }];
    const system = all.flatMap((message) => (isSystem(message) ? (message.content ?? []) : []));
    return {
      model: reference,
      max_tokens: typeof max_tokens === "number" ? max_tokens : DEFAULT_MAX_TOKENS,
      ...(system.length > 0 && { system: system.join("\n\n") }),
      messages: all.filter((message) => !isSystem(message)),
      ...rest,
    };
  },
  embeddings: ({ reference, input }) => ({ input: HELLO, ...input, model: reference }),
  images: (call) => ({ ...imageBody(call), response_format: "b64_json" }),
  edits: (call) => ({ ...imageBody(call), response_format: "b64_json" }),
  speech: ({ reference, input }) => {
    const { text, input: written, prompt, voice, speaker, response_format, ...rest } = input;
    return {
      model: reference,
      input: textAmong(text, written, prompt) ?? "Hello!",
      voice: textAmong(voice, speaker) ?? "alloy",
      response_format: FORMAT.exec(textAmong(response_format) ?? "")?.[0] ?? "wav",
      ...plain(rest),
    };
  },
  transcriptions: ({ reference, input }) => {
    const { language, prompt, temperature } = input;
    const given = Object.entries({ language, prompt, temperature });
    return {
      model: reference,
      ...Object.fromEntries(given.flatMap(([name, value]) => (value ? [[name, value]] : []))),
    };
  },
};

/** Samples write a file whose name ends with the format, which the author of an example chooses. */
const FORMAT = /^[a-z0-9]{1,8}$/;

const COUNTS = ["n", "num_outputs", "num_images", "number_of_images"];

function imageBody({ reference, input }: Call): Input {
  const { prompt, size, width, height } = input;
  const count = COUNTS.map((name) => input[name]).find((one) => typeof one === "number");
  const sides = typeof width === "number" && typeof height === "number";
  const asked = textAmong(size) ?? (sides ? `${width}x${height}` : undefined);
  return {
    model: reference,
    prompt: textAmong(prompt) ?? "A lighthouse at dusk",
    n: count ?? 1,
    ...(asked !== undefined && { size: asked }),
  };
}

/** Models know inputs of their own; files cannot be sent with these calls. */
const plain = (rest: Input): Input =>
  Object.fromEntries(Object.entries(rest).filter(([, value]) => !isObject(value)));

const isSystem = (message: Json): message is { [name: string]: Json } =>
  isObject(message) && (message.role === "system" || message.role === "developer");

const textAmong = (...values: (Json | undefined)[]): string | undefined =>
  values.find((value) => typeof value === "string" && value !== "")?.toString();
