/** Examples of a model: runs that its owner shows. */
import { z } from "zod";
import { json, jsonObject, timestamp, uuid } from "./common.ts";
import { oneModel } from "./model.ts";

export const MAX_EXAMPLES = 12;

export const example = z
  .object({
    id: uuid,
    version_number: z.int().meta({ description: "Number of the version that ran" }),
    input: jsonObject.meta({
      description: "The input, without secret fields. File URLs are valid for an hour",
    }),
    output: json.meta({ description: "The output. File URLs are valid for an hour" }),
    execution_time: z.string().nullable().meta({ description: "Run time in decimal seconds" }),
    created_at: timestamp,
  })
  .meta({ id: "Example" });
export type Example = z.infer<typeof example>;

export const pinExample = z
  .strictObject({
    prediction_id: uuid.meta({ description: "One of your successful predictions of this model" }),
  })
  .meta({ id: "PinExample" });
export type PinExample = z.infer<typeof pinExample>;

export const updateExample = z
  .strictObject({
    position: z.int().min(1).max(MAX_EXAMPLES).optional().meta({
      description: "Position, starting at 1. Larger numbers move it to the end",
      example: 1,
    }),
    is_cover: z.boolean().optional().meta({
      description:
        "Whether the first image in its output is the model's cover image. By default, the first pinned example with an image provides it. Set `false` to remove the cover",
    }),
  })
  .meta({ id: "UpdateExample" });
export type UpdateExample = z.infer<typeof updateExample>;

export const oneExample = oneModel.extend({
  example_id: uuid.meta({ description: "ID of the example" }),
});
