/** Parameters that would change the answer, but that a model without them would silently ignore. */

import { countOf, type Fields, fieldsOf, isFields, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import type { Field } from "../images/model-fields.ts";
import { enumOptions } from "../schemas/input-form-schema.ts";

interface Unsupported {
  param: string;
  property: string;
}

interface UnsupportedCase {
  param: string;
  /** The property that the model needs, if it has another name. */
  property?: string;
  isMade(request: Fields): boolean;
  /** The property that a model with chats only has instead. */
  chatProperty?: string;
}

const toolChoice: UnsupportedCase = {
  param: "tool_choice",
  isMade: ({ tool_choice }) => isForced(tool_choice),
};

const topLogprobs: UnsupportedCase = {
  param: "top_logprobs",
  isMade: ({ top_logprobs }) => countOf(top_logprobs) > 0,
};

const several: UnsupportedCase = { param: "n", isMade: ({ n }) => countOf(n) > 1 };

const CASES: Record<OpenAiCall, UnsupportedCase[]> = {
  chat_completions: [
    toolChoice,
    { param: "response_format", isMade: ({ response_format }) => isJson(response_format) },
    several,
    { param: "logprobs", isMade: ({ logprobs }) => logprobs === true },
    topLogprobs,
  ],
  responses: [
    toolChoice,
    {
      ...{ param: "text.format", property: "text", chatProperty: "response_format" },
      isMade: ({ text }) => isJson(fieldsOf(text).format),
    },
    {
      ...{ param: "include", property: "include", chatProperty: "logprobs" },
      isMade: ({ include }) => listOf(include).includes("message.output_text.logprobs"),
    },
    topLogprobs,
  ],
  embeddings: [],
  messages: [
    {
      param: "tool_choice",
      isMade: ({ tool_choice }) => ["any", "tool"].includes(textOf(fieldsOf(tool_choice).type)),
    },
    {
      ...{ param: "output_config.format", property: "response_format" },
      isMade: ({ output_config, output_format }) =>
        isJson(fieldsOf(output_config).format) || isJson(output_format),
    },
  ],
  count_tokens: [],
  images_generations: [],
  images_edits: [],
  audio_transcriptions: [],
  audio_translations: [],
  audio_speech: [],
  completions: [
    several,
    { param: "best_of", isMade: ({ best_of }) => countOf(best_of) > 1 },
    { param: "echo", isMade: ({ echo }) => echo === true },
    // `logprobs` of completions is a number: 0 asks only for those of the chosen tokens.
    { param: "logprobs", isMade: ({ logprobs }) => typeof logprobs === "number" },
    { param: "suffix", isMade: ({ suffix }) => textOf(suffix) !== "" },
  ],
  moderations: [],
  rerank: [],
};

/** The first requested parameter that the schema lacks; undefined if it does not list its properties. */
export function findUnsupported(
  call: OpenAiCall,
  request: Fields,
  { properties }: Fields,
): Unsupported | undefined {
  if (!isFields(properties)) return undefined;
  const chatOnly = "messages" in properties && !("input" in properties);
  for (const { param, property: own, chatProperty, isMade } of CASES[call]) {
    const property = (chatOnly && chatProperty) || (own ?? param);
    if (isMade(request) && !(property in properties)) return { param, property };
  }
  return undefined;
}

/** Whether a tool must be called. Chats have the mode of `allowed_tools` one level deeper. */
export function isForced(choice: Json | undefined): boolean {
  if (!isFields(choice)) return choice === "required";
  const { type, mode, allowed_tools } = choice;
  // Messages name the choice in `type`.
  if (type === "auto" || type === "none") return false;
  return type !== "allowed_tools" || (mode ?? fieldsOf(allowed_tools).mode) === "required";
}

const isJson = (format: Json | undefined) => textOf(fieldsOf(format).type).startsWith("json_");

/** The error for a parameter of a call that a Cog model cannot be given. */
export class UnfitParameter extends Error {
  readonly param: string;
  readonly code: "unsupported_parameter" | "invalid_value";

  constructor(param: string, code: UnfitParameter["code"], message: string) {
    super(message);
    this.param = param;
    this.code = code;
  }
}

/** The error for a parameter that would change the answer. @param property that the schema lacks */
export const lacks = (param: string, property = param) =>
  new UnfitParameter(
    param,
    "unsupported_parameter",
    `'${param}' is not supported: the input schema of the model does not have '${property}'. Omit it, or use a model that supports it.`,
  );

const MAX_SHOWN = 50;

/**
 * Returns the option that a text means, in any case; the text itself where there are no options.
 * @param others other words for the option
 * @throws UnfitParameter
 */
export function optionFor({ keywords }: Field, param: string, text: string, ...others: string[]) {
  const options = enumOptions(keywords);
  if (!options) return text;
  const words = [text, ...others].map((word) => word.toLowerCase());
  const found = words
    .map((word) => options.find((option) => String(option).toLowerCase() === word))
    .find((option) => option !== undefined);
  if (found !== undefined) return found;
  const shown = options.slice(0, MAX_SHOWN).map((option) => `'${option}'`);
  const rest = options.length > MAX_SHOWN ? ` and ${options.length - MAX_SHOWN} more` : "";
  const message = `'${param}' must be one of: ${shown.join(", ")}${rest}.`;
  throw new UnfitParameter(param, "invalid_value", message);
}

export function named(field: Field | undefined, param: string): string {
  if (!field) throw lacks(param);
  return field.name;
}
