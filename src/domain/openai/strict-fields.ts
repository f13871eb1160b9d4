/** The fields of a request as strict servers accept them, in all conventions. */
import type { Json } from "../../protocol/common.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";
import { isForced } from "./unsupported.ts";

/** The error for a feature of the convention that containers do not have. The message is for the caller. */
export class NotSupportedByChat extends Error {
  override readonly name = "NotSupportedByChat";
  /** The path of the parameter in the body. */
  readonly param: string;

  constructor(param: string, message: string) {
    super(`${param}: ${message}`);
    this.param = param;
  }
}

const OF_TOOLS = ["tools", "tool_choice", "parallel_tool_calls", "max_tool_calls"];

/**
 * Removes the fields that mean nothing without another one that the request does not have. vLLM, for
 * example, refuses a `tool_choice` without tools.
 * @throws NotSupportedByChat if a tool must be called and there is none
 */
export function withoutDependents(request: Fields): Fields {
  const { tools, tool_choice, stream } = request;
  const omitted = new Set<string>();
  if (tools == null || (Array.isArray(tools) && tools.length === 0)) {
    if (isForced(tool_choice)) {
      throw new NotSupportedByChat("tool_choice", "the request has no tool that could be called.");
    }
    for (const name of OF_TOOLS) omitted.add(name);
  }
  if (listOf(request.functions).length === 0) {
    for (const name of ["functions", "function_call"]) omitted.add(name);
  }
  if (stream !== true) omitted.add("stream_options");
  if (!listOf(tools).some((tool) => fieldsOf(tool).type === "mcp_toolset")) {
    omitted.add("mcp_servers");
  }
  return Object.fromEntries(Object.entries(request).filter(([name]) => !omitted.has(name)));
}

/**
 * Returns only the allowed tools, since few servers support allowed_tools.
 * @param tools of a chat
 * @param choice the mode, and the tools that it allows
 */
export function allowedTools(tools: Json[], { mode, tools: allowed }: Fields): Fields {
  const names = new Set(listOf(allowed).map(nameOf));
  return {
    tools: tools.filter((tool) => names.has(nameOf(tool))),
    tool_choice: mode ?? "auto",
  };
}

function nameOf(tool: Json): string {
  const { name, function: called, custom } = fieldsOf(tool);
  return textOf(name ?? fieldsOf(called ?? custom).name);
}

/**
 * The nearest known level of effort for each other level: templates and servers know `low`, `medium` and
 * `high`.
 */
const EFFORTS: Record<string, string> = {
  none: "low",
  minimal: "low",
  xhigh: "high",
  max: "high",
};

export const knownEffort = (effort: Json): Json =>
  typeof effort === "string" ? (EFFORTS[effort] ?? effort) : effort;
