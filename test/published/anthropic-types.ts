/**
 * A check by the compiler that all values that the schemas of anthropic.ts accept have the types of the
 * official client. The file is separate because the client's types bring those of Node, which the Worker's
 * tests do not have.
 */
import type {
  Message,
  MessageTokensCount,
  RawMessageStreamEvent,
} from "@anthropic-ai/sdk/resources/messages";
import type { ModelInfo } from "@anthropic-ai/sdk/resources/models";
import type { ErrorResponse } from "@anthropic-ai/sdk/resources/shared";
import type { z } from "zod";
import { anyMessage, model, published, tokens, told } from "./anthropic.ts";

/**
 * The client has `citations: null` for no citations, which the AI SDK refuses: the service leaves the field
 * out.
 */
type Uncited<T> = T extends { type: "text"; citations: unknown }
  ? Omit<T, "citations">
  : T extends (infer One)[]
    ? Uncited<One>[]
    : T extends object
      ? { [Name in keyof T]: Uncited<T[Name]> }
      : T;

export const asClientHasThem = [
  anyMessage satisfies z.ZodType<Uncited<Message>>,
  told satisfies z.ZodType<Uncited<RawMessageStreamEvent>>,
  published satisfies z.ZodType<ErrorResponse>,
  model satisfies z.ZodType<ModelInfo>,
  tokens satisfies z.ZodType<MessageTokensCount>,
];
