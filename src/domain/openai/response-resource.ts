/** The response resource, with every field that either of the published schemas requires. */
import { z } from "zod";
import { numberIn } from "../../lib/exact-json.ts";
import { type Fields, isFields } from "../../lib/fields.ts";
import { exactNumber, json } from "../../protocol/common.ts";
import type { ResponseItem, ResponseRequest } from "../../protocol/openai/response.ts";

export interface ResponseHead {
  id: string;
  /** Unix seconds. */
  created_at: number;
  model: string;
  request: ResponseRequest;
}

export type ResponseState = {
  status: "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";
  /** Unix seconds; null unless it was completed. */
  completed_at: number | null;
  output: ResponseItem[];
  usage: Fields | null;
  error: Fields | null;
  incomplete_details: Fields | null;
};

export class ResponseResource {
  readonly background: boolean;
  readonly #head: ResponseHead;
  readonly #echo: z.infer<typeof echoed>;

  constructor(head: ResponseHead) {
    this.#head = head;
    this.#echo = echoed.parse(head.request);
    this.background = this.#echo.background;
  }

  /** @param own the container's own response, from which the reasoning settings are taken */
  with(state: ResponseState, own: Fields | undefined) {
    const { id, created_at, model } = this.#head;
    return {
      ...{ id, object: "response" as const, created_at, model },
      ...state,
      ...this.#echo,
      reasoning: isFields(own?.reasoning) ? reasoning.parse(own.reasoning) : this.#echo.reasoning,
    };
  }
}

export type Resource = ReturnType<ResponseResource["with"]>;

/** A number that keeps its digits; an integer that some clients decode as one is written without a point. */
const number = (least: number, most: number) =>
  exactNumber.refine((value) => isBetween(numberIn(value), least, most));
const integer = z.preprocess((value) => numberIn(value) ?? value, z.int());
const isBetween = (value = Number.NaN, least: number, most: number) =>
  value >= least && value <= most;

const orNull = <T extends z.ZodType>(schema: T) => schema.nullable().catch(null);

const functionChoice = z.object({ type: z.literal("function"), name: z.string() });

const functionTool = functionChoice.extend({
  description: orNull(z.string()),
  parameters: orNull(z.record(z.string(), json)),
  strict: orNull(z.boolean()),
});

/** The reasoning settings of both schemas: Open Responses lacks the efforts `minimal` and `max`. */
const reasoning = z
  .object({
    effort: orNull(z.enum(["none", "low", "medium", "high", "xhigh"])),
    summary: orNull(z.enum(["concise", "detailed", "auto"])),
  })
  .catch({ effort: null, summary: null });

/** The text format. Open Responses allows only null for `schema`, OpenAI only a schema, which is returned. */
const format = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("text") }),
    z.object({ type: z.literal("json_object") }),
    z.object({
      type: z.literal("json_schema"),
      name: z.string(),
      description: z.string().catch(""),
      schema: z.record(z.string(), json),
      strict: z.boolean().catch(false),
    }),
  ])
  .catch({ type: "text" });

/**
 * The request's parameters, as far as the schemas allow them. A model may accept a temperature of 3 or
 * another kind of tool, but strict clients would reject a response that contains it.
 */
const echoed = z.object({
  background: z.boolean().catch(false),
  conversation: z
    .union([z.string().transform((id) => ({ id })), z.object({ id: z.string() })])
    .optional()
    .catch(undefined),
  frequency_penalty: exactNumber.catch(0),
  instructions: orNull(z.string()),
  max_output_tokens: orNull(integer),
  max_tool_calls: orNull(integer),
  metadata: z.record(z.string(), z.string()).catch({}),
  parallel_tool_calls: z.boolean().catch(true),
  presence_penalty: exactNumber.catch(0),
  previous_response_id: orNull(z.string()),
  prompt_cache_key: orNull(z.string()),
  reasoning,
  safety_identifier: orNull(z.string().max(64)),
  // `default` is the name of the only tier.
  service_tier: z.literal("default").catch("default"),
  store: z.boolean().catch(true),
  temperature: number(0, 2).catch(1),
  text: z
    .object({ format, verbosity: z.enum(["low", "medium", "high"]).catch("medium") })
    .catch({ format: { type: "text" }, verbosity: "medium" }),
  tool_choice: z
    .union([
      z.enum(["none", "auto", "required"]),
      functionChoice,
      z.object({
        type: z.literal("allowed_tools"),
        mode: z.enum(["auto", "required"]),
        tools: z.array(functionChoice),
      }),
    ])
    .catch("auto"),
  tools: z
    .array(orNull(functionTool))
    .catch([])
    .transform((tools) => tools.filter((tool) => tool !== null)),
  top_logprobs: integer.pipe(z.int().min(0).max(20)).catch(0),
  top_p: number(0, 1).catch(1),
  truncation: z.enum(["auto", "disabled"]).catch("disabled"),
});
