/** A conversation as the input of a prediction, in the shape that the version takes. */

import { isObject } from "../../../lib/json.ts";
import type { Json } from "../../../protocol/common.ts";
import { DEFAULT_MAX_TOKENS } from "../code/bodies.ts";
import type { AssistantTurn, ToolCall, Turn, UserTurn } from "./conversation.ts";
import type { ChatWire } from "./wire.ts";

export interface ChatOptions {
  system: string;
  tools: Tool[];
  /** Settings such as sampling, by the version's names. */
  settings: { [name: string]: Json };
}

type Input = { [name: string]: Json };

export function chatInput(
  wire: ChatWire,
  turns: Turn[],
  { system, tools, settings }: ChatOptions,
): Input {
  const said = turns.filter(isSaid);
  const named = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [LIMITS.has(name) ? LIMIT[wire] : name, value]),
  );
  const rest: Input = tools.length > 0 ? { tools: toolsFor(wire, tools), ...named } : named;
  const hasSystem = system.trim() !== "";
  switch (wire) {
    case "chat": {
      const first: Json[] = hasSystem ? [{ role: "system", content: system }] : [];
      return { messages: [...first, ...said.flatMap(chatMessages)], ...rest };
    }
    case "responses": {
      const input: Json = said.flatMap(responseItems);
      return hasSystem ? { instructions: system, input, ...rest } : { input, ...rest };
    }
    case "messages": {
      const messages: Json = said.flatMap(anthropicMessages);
      const required = { messages, max_tokens: DEFAULT_MAX_TOKENS };
      return hasSystem ? { system, ...required, ...rest } : { ...required, ...rest };
    }
  }
}

/** Names of the conventions for the limit of tokens. A Cog model's own name for it stays. */
const LIMIT = { chat: "max_tokens", responses: "max_output_tokens", messages: "max_tokens" };
export const LIMITS = new Set(Object.values(LIMIT));

/** The conversation has no answer that failed or was stopped before it began. */
const isSaid = (turn: Turn) =>
  turn.role === "user" || turn.text.trim() !== "" || turn.calls.length > 0;

function chatMessages(turn: Turn): Json[] {
  if (turn.role === "user") {
    const pictures = turn.pictures.map(({ url }) => ({ type: "image_url", image_url: { url } }));
    return [{ role: "user", content: withText(turn, pictures, "text") }];
  }
  const calls = answered(turn);
  const tool_calls = calls.map(({ id, name, arguments: text }) => ({
    id,
    type: "function",
    function: { name, arguments: text },
  }));
  const results = calls.map(({ id, result }) => ({
    role: "tool",
    tool_call_id: id,
    content: result,
  }));
  if (calls.length === 0) return [{ role: "assistant", content: turn.text }];
  return [{ role: "assistant", content: turn.text || null, tool_calls }, ...results];
}

function responseItems(turn: Turn): Json[] {
  if (turn.role === "user") {
    const pictures = turn.pictures.map(({ url }) => ({
      type: "input_image",
      image_url: url,
      detail: "auto",
    }));
    return [{ role: "user", content: withText(turn, pictures, "input_text") }];
  }
  const calls = answered(turn);
  const text = turn.text === "" ? [] : [{ role: "assistant", content: turn.text }];
  return [
    ...text,
    ...calls.map(({ id, name, arguments: json }) => ({
      type: "function_call",
      call_id: id,
      name,
      arguments: json,
    })),
    ...calls.map(({ id, result }) => ({
      type: "function_call_output",
      call_id: id,
      output: result,
    })),
  ];
}

function anthropicMessages(turn: Turn): Json[] {
  if (turn.role === "user") {
    const pictures = turn.pictures.map(({ url }) => ({
      type: "image",
      source: { type: "url", url },
    }));
    return [{ role: "user", content: withText(turn, pictures, "text") }];
  }
  const calls = answered(turn);
  if (calls.length === 0) return [{ role: "assistant", content: turn.text }];
  const text = turn.text === "" ? [] : [{ type: "text", text: turn.text }];
  const uses = calls.map(({ id, name, arguments: json }) => ({
    type: "tool_use",
    id,
    name,
    input: objectIn(json),
  }));
  const results = calls.map(({ id, result }) => ({
    type: "tool_result",
    tool_use_id: id,
    content: result,
  }));
  return [
    { role: "assistant", content: [...text, ...uses] },
    { role: "user", content: results },
  ];
}

type Answered = ToolCall & { result: string };

/** A call without a result would be refused. */
const answered = ({ calls }: AssistantTurn): Answered[] =>
  calls.flatMap((call) => (call.result === undefined ? [] : [{ ...call, result: call.result }]));

/** Text alone stays text: not every model reads parts. */
function withText({ text, pictures }: UserTurn, parts: Json[], type: string): Json {
  if (pictures.length === 0) return text;
  return text === "" ? parts : [...parts, { type, text }];
}

function objectIn(json: string): Json {
  try {
    return JSON.parse(json || "{}");
  } catch {
    return {};
  }
}

interface Tool {
  name: string;
  description: string;
  parameters: Json;
}

/** @returns the tools, or the error in the text */
export function readTools(text: string): { tools: Tool[] } | { fault: string } {
  if (text.trim() === "") return { tools: [] };
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: "This is not valid JSON." };
  }
  const list = Array.isArray(value) ? value : [value];
  const tools: Tool[] = [];
  for (const [n, one] of list.entries()) {
    const tool = toolIn(one);
    if (!tool) return { fault: `Tool ${n + 1} needs a name of letters, digits, _ and -.` };
    tools.push(tool);
  }
  return { tools };
}

function toolIn(value: Json): Tool | undefined {
  if (!isObject(value)) return undefined;
  const { name, description, parameters, input_schema } = isObject(value.function)
    ? value.function
    : value;
  if (typeof name !== "string" || !/^[\w-]{1,64}$/.test(name)) return undefined;
  return {
    name,
    description: typeof description === "string" ? description : "",
    parameters: parameters ?? input_schema ?? { type: "object", properties: {} },
  };
}

function toolsFor(wire: ChatWire, tools: Tool[]): Json {
  return tools.map(({ name, description, parameters }): Json => {
    const named: { [key: string]: Json } = description ? { name, description } : { name };
    if (wire === "messages") return { ...named, input_schema: parameters };
    if (wire === "responses") return { type: "function", ...named, parameters, strict: false };
    return { type: "function", function: { ...named, parameters } };
  });
}

export const EXAMPLE_TOOLS = `[
  {
    "name": "weather",
    "description": "The weather of a city",
    "parameters": {
      "type": "object",
      "properties": { "city": { "type": "string" } },
      "required": ["city"]
    }
  }
]`;
