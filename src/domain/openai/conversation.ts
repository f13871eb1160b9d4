/** Conversations as requests name them, their items, and the input of a response as such items. */
import { v7 as uuid } from "uuid";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem, ResponseRequest } from "../../protocol/openai/response.ts";
import { logprobsOf } from "./output-item.ts";

/** Returns a conversation's id from that of its object, which is then found without a look-up. */
export const conversationIdOf = (objectId: string) => `conv_${objectId}`;

export const objectIdOf = (conversationId: string): string | undefined =>
  /^conv_([0-9a-f]{64})$/.exec(conversationId)?.[1];

export function conversationIdIn({
  conversation,
}: Pick<ResponseRequest, "conversation">): string | undefined {
  return (typeof conversation === "string" ? conversation : conversation?.id) ?? undefined;
}

/** The prefixes of ids by types; other types have that of any item. */
const PREFIXES = new Map(
  Object.entries({
    "": "msg",
    message: "msg",
    reasoning: "rs",
    function_call: "fc",
    custom_tool_call: "ctc",
    compaction: "cmp",
  }),
);

const MAX_ID = 100;

/**
 * Returns the id by which an item is found: its own, or one of its type. The item itself stays as it was
 * sent.
 * @param name the end of a new id, which is random by default
 */
export function itemIdOf(item: ResponseItem, name = uuid().replaceAll("-", "")): string {
  return ownIdOf(item) ?? `${PREFIXES.get(textOf(item.type)) ?? "item"}_${name}`;
}

/** Returns an item's own id. A longer one is not an id: nobody could ask for it. */
function ownIdOf({ id }: ResponseItem): string | undefined {
  return typeof id === "string" && id !== "" && id.length <= MAX_ID ? id : undefined;
}

export function duplicateId(items: ResponseItem[]): string | undefined {
  const seen = new Set<string>();
  for (const item of items) {
    const id = ownIdOf(item);
    if (id === undefined || item.type === "item_reference") continue;
    if (seen.has(id)) return id;
    seen.add(id);
  }
  return undefined;
}

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

interface ItemPage {
  object: "list";
  data: ListedItem[];
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

/**
 * A compacted conversation: the model's own summary of it, as an item that later requests send in its place.
 * The convention's field for it is `encrypted_content`. It is not encrypted, so that no key needs to be kept:
 * it contains nothing that its reader may not know. It is text in base64 after a mark.
 */

const MARK = "auspex-summary-1:";

const TASK = `Summarize this conversation, so that it can go on from your summary alone: what was asked, what was found out and decided, names, numbers and code that matter, the results of tools, and what is still to be done. Write only the summary.`;

const INTRODUCTION = "Summary of the conversation so far:";

export const withTask = (items: ResponseItem[]): ResponseItem[] => [
  ...items,
  { type: "message", role: "user", content: [{ type: "input_text", text: TASK }] },
];

export const compactionItem = (id: string, summary: string) => ({
  type: "compaction",
  id,
  encrypted_content: MARK + base64Of(new TextEncoder().encode(summary)),
});

/** Replaces each such item by a message for any model. Items of other services stay as they are. */
export const withSummaries = (items: ResponseItem[]): ResponseItem[] =>
  items.map((item) => {
    const summary =
      item.type === "compaction" ? summaryIn(textOf(item.encrypted_content)) : undefined;
    if (summary === undefined) return item;
    const text = `${INTRODUCTION}\n\n${summary}`;
    return { type: "message", role: "developer", content: [{ type: "input_text", text }] };
  });

function summaryIn(content: string): string | undefined {
  if (!content.startsWith(MARK)) return undefined;
  try {
    const bytes = Uint8Array.from(atob(content.slice(MARK.length)), (one) => one.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    return undefined;
  }
}

function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Bytes of JSON: as much as a request may have. An RPC message has 32 MiB at most. */
export const MAX_BYTES = 10_000_000;

/** Conversations of this size are read and parsed without limit; larger ones few at a time. */
export const SMALL_BYTES = 128 * 1024;

/** Conversations of an account: each is a Durable Object, whose storage costs $0.20 per GB and month. */
export const MAX_CONVERSATIONS = 10_000;

/** How long a response that was begun may have no prediction: after that its caller has died. */
export const BEGIN_MS = 60_000;
