/** Models of the Anthropic convention. */
import { z } from "zod";
import { cursorText, integerText, timestamp } from "../common.ts";

/** Unknown facts of a model are null, which the convention allows. */
export const anthropicModel = z
  .object({
    type: z.literal("model"),
    id: z.string().meta({ description: "Value for `model`", example: "demo/chat" }),
    display_name: z.string().meta({ example: "demo/chat" }),
    created_at: timestamp,
    lifecycle: z.literal("active"),
    line: z.null(),
    capabilities: z.null(),
    max_input_tokens: z.null(),
    max_tokens: z.null(),
    deprecated_at: z.null(),
    retires_at: z.null(),
  })
  .meta({ id: "VendorbModel", description: "A model in the format of Anthropic's API" });
export type AnthropicModel = z.infer<typeof anthropicModel>;

export const anthropicModels = z
  .object({
    data: z.array(anthropicModel),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .meta({ id: "VendorbModels" });
export type AnthropicModels = z.infer<typeof anthropicModels>;

const cursor = (description: string) => cursorText(200).meta({ description });

/** The query of GET /vendorb/models. */
export const anthropicModelsQuery = z.object({
  limit: integerText(1, 1_000).default(20).meta({ description: "Maximum number of models" }),
  after_id: cursor("Id of a model: lists the models after it"),
  before_id: cursor("Id of a model: lists the models before it"),
});
export type AnthropicModelsQuery = z.infer<typeof anthropicModelsQuery>;
