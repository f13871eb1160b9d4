/** Tools as they are typed: a JSON list of functions, as any of the three conventions writes them. */
import { isObject } from "../../../lib/json.ts";
import type { Json } from "../../../protocol/common.ts";
import type { ChatWire } from "./wire.ts";

export interface Tool {
  name: string;
  description: string;
  /** A JSON Schema. */
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

export function toolsFor(wire: ChatWire, tools: Tool[]): Json {
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
