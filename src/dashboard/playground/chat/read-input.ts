/** A conversation read back from the input of a prediction: what input.ts writes, and what clients send. */
import { isObject } from "../../../lib/json.ts";
import { readableJson } from "../../../lib/text.ts";
import type { Json } from "../../../protocol/common.ts";
import { newAnswer, type Picture, type ToolCall, type Turn } from "./conversation.ts";
import { readTools } from "./input.ts";
import type { ChatWire } from "./wire.ts";

export interface ReadChat {
  system: string;
  tools: string;
  turns: Turn[];
  /** Input fields that are not the chat's own. */
  settings: { [name: string]: Json };
}

/** @returns undefined for what the chat has no place for: it would be lost without a word */
export function readChat(wire: ChatWire, input: { [name: string]: Json }): ReadChat | undefined {
  const { messages, input: said, instructions, system, tools, tool_choice, ...rest } = input;
  const { model, stream, stream_options, ...settings } = rest;
  if (tool_choice !== undefined && tool_choice !== null && tool_choice !== "auto") return undefined;
  const own = { chat: messages, messages, responses: said }[wire];
  const first = { chat: undefined, messages: system, responses: instructions }[wire];
  const others = { chat: [said, instructions, system], messages: [said, instructions] };
  const foreign = wire === "responses" ? [messages, system] : others[wire];
  if (foreign.some((one) => one !== undefined)) return undefined;
  const list = typeof own === "string" ? [{ role: "user", content: own }] : own;
  const intro = contentOf(first);
  const toolsText = toolsIn(tools);
  if (!Array.isArray(list) || !intro || toolsText === undefined) return undefined;
  const reader = new Reader(intro.text);
  if (intro.pictures.length > 0 || !list.every((one) => isObject(one) && reader.take(one)))
    return undefined;
  return { system: reader.system, tools: toolsText, turns: reader.turns, settings };
}

function toolsIn(tools: Json | undefined): string | undefined {
  if (tools === undefined || tools === null) return "";
  const text = readableJson(tools);
  return "fault" in readTools(text) ? undefined : text;
}

class Reader {
  system: string;
  readonly turns: Turn[] = [];

  constructor(system: string) {
    this.system = system;
  }

  /** @returns whether all of it has a place */
  take({ role, type, ...message }: Part): boolean {
    if (type === "function_call")
      return this.#call(message.call_id, message.name, message.arguments);
    if (type === "function_call_output") return this.#result(message.call_id, message.output);
    if (type !== undefined && type !== "message") return false;
    const { content, tool_calls, tool_call_id, reasoning_content, ...rest } = message;
    const { id, status, ...unknown } = rest;
    if (!Object.values(unknown).every(isEmptyPart)) return false;
    if (role === "tool") return this.#result(tool_call_id, content);
    const read = contentOf(content);
    if (!read) return false;
    if (role === "system" || role === "developer") return this.#introduce(read);
    if (role === "user") return this.#ask(read);
    if (role !== "assistant" || read.pictures.length > 0 || read.results.length > 0) return false;
    const thought = typeof reasoning_content === "string" ? reasoning_content : "";
    const { text } = read;
    const reasoning = read.reasoning + thought;
    this.turns.push({ ...newAnswer(0), state: "done", text, reasoning });
    const calls = [...read.calls, ...(Array.isArray(tool_calls) ? tool_calls.map(chatCall) : [])];
    return calls.every((call) => call && this.#call(call.id, call.name, call.arguments));
  }

  /** The chat has one such text, before all others. */
  #introduce({ text, pictures }: Content): boolean {
    if (this.turns.length > 0 || this.system !== "" || pictures.length > 0) return false;
    this.system = text;
    return true;
  }

  #ask({ text, pictures, results, calls }: Content): boolean {
    if (calls.length > 0) return false;
    const areTaken = results.every(({ id, text: result }) => this.#result(id, result));
    if (text !== "" || pictures.length > 0) this.turns.push({ role: "user", text, pictures });
    return areTaken;
  }

  #call(id: Json | undefined, name: Json | undefined, json: Json | undefined): boolean {
    if (typeof id !== "string" || typeof name !== "string" || typeof json !== "string")
      return false;
    const call = { id, name, arguments: json };
    const last = this.turns.at(-1);
    // Calls after a text or after other calls belong to one answer, until a call has its result.
    if (last?.role === "assistant" && last.calls.every(({ result }) => result === undefined))
      last.calls.push(call);
    else this.turns.push({ ...newAnswer(0), state: "done", calls: [call] });
    return true;
  }

  #result(id: Json | undefined, result: Json | undefined): boolean {
    const read = contentOf(result);
    const last = this.turns.findLast((turn) => turn.role === "assistant");
    const call = last?.calls.find((one) => one.id === id && one.result === undefined);
    if (!call || !read || read.pictures.length > 0) return false;
    call.result = read.text;
    return true;
  }
}

function chatCall(call: Json): ToolCall | undefined {
  if (!isObject(call) || !isObject(call.function) || typeof call.id !== "string") return undefined;
  const { name, arguments: json } = call.function;
  return typeof name === "string" && typeof json === "string"
    ? { id: call.id, name, arguments: json }
    : undefined;
}

/** The content of a message: a text, or parts as any of the three conventions writes them. */
type Part = { [name: string]: Json };

interface Content {
  text: string;
  reasoning: string;
  pictures: Picture[];
  calls: ToolCall[];
  results: { id: string; text: string }[];
}

/** @returns undefined for a part that the chat has no place for */
function contentOf(content: Json | undefined): Content | undefined {
  const read: Content = { text: "", reasoning: "", pictures: [], calls: [], results: [] };
  if (content === undefined || content === null) return read;
  if (typeof content === "string") return { ...read, text: content };
  if (!Array.isArray(content)) return undefined;
  return content.every((part) => isObject(part) && take(read, part)) ? read : undefined;
}

/** Whether a part of an answer is empty, such as `refusal: null`; clients send such parts back. */
const isEmptyPart = (value: Json | undefined): boolean =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0);

function take(read: Content, part: Part): boolean {
  const { type, text } = part;
  switch (type) {
    case "text":
    case "input_text":
    case "output_text":
      if (typeof text !== "string") return false;
      read.text += read.text === "" ? text : `\n${text}`;
      return true;
    case "thinking":
      read.reasoning += typeof part.thinking === "string" ? part.thinking : "";
      return true;
    case "image_url": {
      const picture: Part = isObject(part.image_url)
        ? part.image_url
        : { url: part.image_url ?? null };
      return hasUsualDetail(picture.detail) && takePicture(read, picture.url);
    }
    case "input_image":
      return hasUsualDetail(part.detail) && takePicture(read, part.image_url);
    case "image":
      return takePicture(read, addressOf(part.source));
    case "tool_use":
      return takeCall(read, part);
    case "tool_result":
      return takeResult(read, part);
    default:
      return false;
  }
}

/** Whether `detail` is the one that the chat sends: another would be lost. */
const hasUsualDetail = (detail: Json | undefined) => detail === undefined || detail === "auto";

function takePicture({ pictures }: Content, url: Json | undefined): boolean {
  if (typeof url !== "string") return false;
  const name = /^https?:[^?#]*\/([\w.%-]+\.\w+)(?:[?#]|$)/.exec(url)?.[1];
  pictures.push({ url, name: name ?? `Image ${pictures.length + 1}`, preview: "" });
  return true;
}

function addressOf(source: Json | undefined): Json | undefined {
  if (!isObject(source)) return undefined;
  const { type, url, media_type, data } = source;
  if (type === "url") return url;
  const areTexts = typeof media_type === "string" && typeof data === "string";
  return type === "base64" && areTexts ? `data:${media_type};base64,${data}` : undefined;
}

function takeCall({ calls }: Content, { id, name, input }: Part): boolean {
  if (typeof id !== "string" || typeof name !== "string") return false;
  calls.push({ id, name, arguments: JSON.stringify(input ?? {}) });
  return true;
}

function takeResult({ results }: Content, part: Part): boolean {
  const { tool_use_id: id, content, is_error } = part;
  const inner = contentOf(content);
  if (is_error === true || typeof id !== "string" || !inner || inner.pictures.length > 0)
    return false;
  results.push({ id, text: inner.text });
  return true;
}
