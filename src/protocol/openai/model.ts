/** Models of the OpenAI convention. */
import { z } from "zod";
import { compatibilities } from "../model.ts";

export const openAiModel = z
  .object({
    id: z.string().meta({ description: "Value for `model`", example: "demo/chat" }),
    object: z.literal("model"),
    created: z.int().meta({ description: "Unix seconds", example: 1_795_000_000 }),
    owned_by: z.string().meta({ example: "demo" }),
    /** Not part of the convention: which calls it answers. */
    compatibilities,
  })
  .meta({ id: "VendoraModel", description: "A model in the format of OpenAI's API" });
export type OpenAiModel = z.infer<typeof openAiModel>;

export const openAiModels = z
  .object({ object: z.literal("list"), data: z.array(openAiModel) })
  .meta({ id: "VendoraModels" });
