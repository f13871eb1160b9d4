/** What a call asks for that must change the answer, where a model would leave it out unnoticed. */
import type { Json } from "../../protocol/common.ts";
import type { VendoraCall } from "../../protocol/runner.ts";
import { countOf, type Fields, fieldsOf, isFields, listOf, textOf } from "./response-json.ts";

export interface Unsupported {
  /** As the caller knows it. */
  param: string;
  /** What the model's schema lacks. */
  property: string;
}

/** Something to ask for. */
interface Demand extends Unsupported {
  isMade(request: Fields): boolean;
  /** What a model that knows only chats is asked instead. */
  chatProperty?: string;
}

const toolChoice = {
  ...{ param: "tool_choice", property: "tool_choice" },
  isMade: ({ tool_choice }: Fields) => isForced(tool_choice),
};

const topLogprobs = {
  ...{ param: "top_logprobs", property: "top_logprobs" },
  isMade: ({ top_logprobs }: Fields) => countOf(top_logprobs) > 0,
};

const DEMANDS: Record<VendoraCall, Demand[]> = {
  chat_completions: [
    toolChoice,
    {
      ...{ param: "response_format", property: "response_format" },
      isMade: ({ response_format }) => isJson(response_format),
    },
    { param: "n", property: "n", isMade: ({ n }) => countOf(n) > 1 },
    { param: "logprobs", property: "logprobs", isMade: ({ logprobs }) => logprobs === true },
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
};

/**
 * The first of what is asked for that a model's input schema does not name. Undefined when it names
 * all, and when it does not say what the model takes.
 */
export function unsupportedIn(
  call: VendoraCall,
  request: Fields,
  { properties }: Fields,
): Unsupported | undefined {
  if (!isFields(properties)) return undefined;
  const chatOnly = "messages" in properties && !("input" in properties);
  for (const { param, property: own, chatProperty, isMade } of DEMANDS[call]) {
    const property = (chatOnly && chatProperty) || own;
    if (isMade(request) && !(property in properties)) return { param, property };
  }
  return undefined;
}

/** Whether a tool has to be called. Of the tools allowed, chats have the mode a level deeper. */
function isForced(choice: Json | undefined): boolean {
  if (!isFields(choice)) return choice === "required";
  const { type, mode, allowed_tools } = choice;
  return type !== "allowed_tools" || (mode ?? fieldsOf(allowed_tools).mode) === "required";
}

const isJson = (format: Json | undefined) => textOf(fieldsOf(format).type).startsWith("json_");
