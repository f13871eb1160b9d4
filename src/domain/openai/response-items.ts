/** The input of a response as conversation items, and the list of these items. */
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem, ResponseRequest } from "../../protocol/openai/response.ts";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "./response-json.ts";
import { logprobsOf } from "./response-part.ts";

type Input = ResponseRequest["input"];

export function itemsOf(input: Input): ResponseItem[] {
  if (typeof input !== "string") return input ?? [];
  return [{ type: "message", role: "user", content: [{ type: "input_text", text: input }] }];
}

/** Returns earlier input and output followed by the new input: output items are valid as input. */
export const conversation = (
  previousInput: ResponseItem[],
  previousOutput: ResponseItem[],
  input: Input,
): ResponseItem[] => [...previousInput, ...previousOutput, ...itemsOf(input)];

export type ListedItem = Fields & { id: string; type: string };

/** Returns items as they are listed, with a status and an id: their own, or one made from their index. */
export const listedItems = (items: ResponseItem[], responseId: string): ListedItem[] =>
  items.map((item, position) => {
    // The type of a message is optional.
    const type = textOf(item.type) || "message";
    const id = textOf(item.id) || `${type}_in_${responseId.replace(/^resp_/, "")}_${position}`;
    return { ...withContent(item, type), type, id, status: textOf(item.status) || "completed" };
  });

function withContent(item: ResponseItem, type: string): Fields {
  if (type === "message") {
    const role = ROLES.find((known) => known === item.role) ?? "user";
    return { ...item, role, content: partsOf(item.content, role === "assistant") };
  }
  if (OUTPUTS.includes(type) && Array.isArray(item.output)) {
    return { ...item, output: partsOf(item.output, false) };
  }
  return type === "reasoning" ? { ...item, summary: listOf(item.summary) } : item;
}

const OUTPUTS = ["function_call_output", "custom_tool_call_output"];
const ROLES = ["user", "assistant", "system", "developer"] as const;

const partsOf = (content: Json | undefined, ofModel: boolean): Json[] =>
  (typeof content === "string" ? [{ type: "input_text", text: content }] : listOf(content)).map(
    (part) => partOf(fieldsOf(part), ofModel),
  );

function partOf(part: Fields, ofModel: boolean): Fields {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text": {
      const text = textOf(part.text);
      if (!ofModel) return { type: "input_text", text };
      const annotations = listOf(part.annotations).filter(isFields);
      return { type: "output_text", text, annotations, logprobs: logprobsOf(part.logprobs) };
    }
    case "input_image":
      return { ...part, image_url: part.image_url ?? null, detail: part.detail ?? "auto" };
    default:
      return part;
  }
}

export interface ItemPage {
  object: "list";
  data: ListedItem[];
  /** The id of the first item; empty when there are no items. */
  first_id: string;
  last_id: string;
  has_more: boolean;
}

/** @param query `after` is the id of the last item of the previous page; an unknown id gives an empty page */
export function itemPage(
  items: ListedItem[],
  { after, limit = 20, order = "desc" }: { after?: string; limit?: number; order?: "asc" | "desc" },
): ItemPage {
  const sorted = order === "asc" ? items : items.toReversed();
  const position = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1;
  const rest = after !== undefined && position === 0 ? [] : sorted.slice(position);
  const data = rest.slice(0, limit);
  return {
    object: "list",
    data,
    first_id: data.at(0)?.id ?? "",
    last_id: data.at(-1)?.id ?? "",
    has_more: rest.length > data.length,
  };
}
