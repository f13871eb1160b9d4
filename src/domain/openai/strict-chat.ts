/**
 * The messages of a chat as strict chat templates accept them: one system message, which comes first;
 * results of tools that are text only and follow their calls; and no two messages of the user or of the
 * assistant in a row.
 */

import { type Fields, fieldsOf, isFields, listOf, textOf } from "../../lib/fields.ts";
import { withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { isForced } from "./unsupported.ts";

/** A message, and the path in the caller's body that it comes from. */
export interface LocatedMessage {
  message: Fields;
  path: string;
  callPaths: string[];
}

/** An item or a message of any convention, and its path in the caller's body. */
export interface Placed {
  entry: Fields;
  path: string;
}

export const placed = (entries: Json | undefined, pathOf: (index: number) => string): Placed[] =>
  listOf(entries).map((entry, index) => ({ entry: fieldsOf(entry), path: pathOf(index) }));

type Kind = "system" | "result" | "other";

/**
 * Splits off the system messages before the conversation, which belong into the one that comes first. Those
 * in the middle stay at their place, for the caller to fold into the user's turn, so that the server finds
 * the beginning of the prompt in its cache. They come after the results of tools, which follow their calls.
 */
export function splitSystem(entries: Placed[], kindOf: (entry: Fields) => Kind) {
  const begin = entries.findIndex(({ entry }) => kindOf(entry) !== "system");
  const leading = begin < 0 ? entries : entries.slice(0, begin);
  const rest: Placed[] = [];
  const waiting: Placed[] = [];
  for (const one of begin < 0 ? [] : entries.slice(begin)) {
    const kind = kindOf(one.entry);
    if (kind === "system") {
      waiting.push(one);
      continue;
    }
    if (kind === "other") rest.push(...waiting.splice(0));
    rest.push(one);
  }
  return { leading, rest: [...rest, ...waiting] };
}

export const isSystemRole = (role: Json | undefined) => role === "system" || role === "developer";

/** The marks that tell the model which text is not the user's own. */
const [OPEN, CLOSE] = ["<system-reminder>", "</system-reminder>"];

/** Returns the content of a system message in the middle, as that of the user. @param type of a text part */
export function reminder(content: Json | undefined, type = "text"): Json {
  if (typeof content === "string") return [OPEN, content, CLOSE].join("\n");
  const mark = (text: string): Fields => ({ type, text });
  return [mark(OPEN), ...listOf(content), mark(CLOSE)];
}

export const strictTurns = (messages: LocatedMessage[]): LocatedMessage[] =>
  withJoinedTurns(withTextResults(withResultsAfterCalls(withJoinedTurns(messages)))).map((one) => ({
    ...one,
    message: withObjectArguments(one.message),
  }));

function withObjectArguments(message: Fields): Fields {
  if (!Array.isArray(message.tool_calls)) return message;
  const tool_calls = message.tool_calls.map(fieldsOf).map((call) => {
    const called = fieldsOf(call.function);
    if (!isFields(call.function)) return call;
    return { ...call, function: { ...called, arguments: objectText(called.arguments) } };
  });
  return { ...message, tool_calls };
}

/** Returns the arguments of an earlier call as an object, which servers parse: a cut one is none. */
export function objectText(args: Json | undefined): string {
  if (isFields(args)) return JSON.stringify(args);
  const text = textOf(args);
  try {
    if (isFields(JSON.parse(text))) return text;
  } catch {
    // Arguments that are no object are passed on as a text.
  }
  return JSON.stringify(text === "" ? {} : { input: text });
}

/** The fields for reasoning: vLLM reads the first; most templates, SGLang and llama.cpp the second. */
export const reasoningFields = (text: string): Fields => ({
  reasoning: text,
  reasoning_content: text,
});

/** Moves results right after their calls: some clients put messages of the user in between. */
function withResultsAfterCalls(messages: LocatedMessage[]): LocatedMessage[] {
  const callers = new Map<Json | undefined, LocatedMessage>();
  const results = new Map<LocatedMessage, LocatedMessage[]>();
  const turns = messages.filter((one) => {
    const { role, tool_call_id, tool_calls } = one.message;
    const caller = role === "tool" ? callers.get(tool_call_id) : undefined;
    if (caller) {
      const others = results.get(caller) ?? [];
      others.push(one);
      results.set(caller, others);
    }
    for (const call of listOf(tool_calls)) callers.set(fieldsOf(call).id, one);
    return !caller;
  });
  return turns.flatMap((one) => [one, ...(results.get(one) ?? [])]);
}

/** Moves images and files of the results of tools after them, into a message of the user. */
function withTextResults(messages: LocatedMessage[]): LocatedMessage[] {
  const all: LocatedMessage[] = [];
  const attached: LocatedMessage[] = [];
  for (const one of messages) {
    const { message, path } = one;
    const { role, content } = message;
    if (role !== "tool") all.push(...attached.splice(0));
    if (role !== "tool" || typeof content === "string") {
      all.push(one);
      continue;
    }
    const parts = listOf(content);
    const others = parts.filter((part) => fieldsOf(part).type !== "text");
    const text = parts.map((part) => textOf(fieldsOf(part).text)).filter(Boolean);
    all.push({ ...one, message: { ...message, content: text.join("\n") } });
    if (others.length > 0)
      attached.push({ message: { role: "user", content: others }, path, callPaths: [] });
  }
  return [...all, ...attached];
}

/** Joins messages of one role: templates expect that the user and the assistant take turns. */
function withJoinedTurns(messages: LocatedMessage[]): LocatedMessage[] {
  const turns: { first: LocatedMessage; more: LocatedMessage[] }[] = [];
  for (const one of messages) {
    const turn = turns.at(-1);
    const isSame = turn?.first.message.role === one.message.role;
    if (turn && isSame && [turn.first, one].every(isJoinable)) turn.more.push(one);
    else turns.push({ first: one, more: [] });
  }
  // The messages of a turn are joined all at once: each further message would copy a long text again.
  return turns.map(({ first, more }) => joined(first, more));
}

const TEXTS = ["reasoning", "reasoning_content", "refusal"];

const JOINABLE: Record<string, string[]> = {
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "annotations", ...TEXTS],
};

function isJoinable({ message }: LocatedMessage): boolean {
  const fields = JOINABLE[textOf(message.role)];
  return (
    fields !== undefined && Object.keys(withoutNulls(message)).every((n) => fields.includes(n))
  );
}

function joined(one: LocatedMessage, more: LocatedMessage[]): LocatedMessage {
  if (more.length === 0) return one;
  const turn = [one, ...more];
  const all = turn.map(({ message }) => message);
  const contents = all.map(({ content }) => content);
  const filled = contents.filter((content) => content != null && content !== "");
  const calls = all.flatMap(({ tool_calls }) => listOf(tool_calls));
  const texts = TEXTS.map(
    (name) => [name, all.map((message) => textOf(message[name])).filter(Boolean)] as const,
  )
    .filter(([, said]) => said.length > 0)
    .map(([name, said]) => [name, said.join("\n")]);
  const message: Fields = {
    role: one.message.role ?? null,
    content:
      filled.length > 0 ? joinedContent(filled, "\n") : (contents.find((c) => c != null) ?? null),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...Object.fromEntries(texts),
  };
  return { ...one, message, callPaths: turn.flatMap(({ callPaths }) => callPaths) };
}

export const joinedContent = (contents: (Json | undefined)[], glue: string, type = "text"): Json =>
  contents.every((one) => typeof one === "string")
    ? contents.join(glue)
    : contents.flatMap((one) => (typeof one === "string" ? [{ type, text: one }] : listOf(one)));

/** @throws NotSupportedByChat */
export function strictChat(request: Fields): Fields {
  const { messages, tools, tool_choice, reasoning_effort: effort } = request;
  const { type, allowed_tools } = fieldsOf(tool_choice);
  return withoutDependents({
    ...request,
    ...(Array.isArray(messages) &&
      messages.every(isFields) && { messages: strictMessages(messages) }),
    ...(type === "allowed_tools" && allowedTools(listOf(tools), fieldsOf(allowed_tools))),
    ...(effort != null && { reasoning_effort: knownEffort(effort) }),
  });
}

function strictMessages(messages: Fields[]): Fields[] {
  const { leading, rest } = splitSystem(
    placed(messages, (index) => `messages[${index}]`),
    ({ role }) => (isSystemRole(role) ? "system" : role === "tool" ? "result" : "other"),
  );
  const system = leading.map(({ entry }) => entry).filter(({ content }) => content != null);
  const [first] = system;
  const turns = rest.map(({ entry, path }): LocatedMessage => {
    const message = isSystemRole(entry.role)
      ? { role: "user", content: reminder(entry.content) }
      : withReasoning(entry);
    return { message, path, callPaths: [] };
  });
  const contents = system.map(({ content }) => plainContent(content));
  return [
    ...(first ? [{ ...first, role: "system", content: joinedContent(contents, "\n\n") }] : []),
    ...strictTurns(turns).map(({ message }) => message),
  ];
}

/** Returns text alone as a string: many templates have no parts in the system message. */
function plainContent(content: Json | undefined): Json | undefined {
  const parts = listOf(content).map(fieldsOf);
  if (parts.length === 0 || parts.some(({ type }) => type !== "text")) return content;
  return parts.map(({ text }) => textOf(text)).join("\n");
}

function withReasoning(message: Fields): Fields {
  const { role, reasoning, reasoning_content } = message;
  const text = textOf(reasoning) || textOf(reasoning_content);
  return role === "assistant" && text !== "" ? { ...message, ...reasoningFields(text) } : message;
}

/** The error for a feature of the convention that containers do not have. The message is for the caller. */
export class NotSupportedByChat extends Error {
  override readonly name = "NotSupportedByChat";
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
      throw new NotSupportedByChat("tool_choice", "the request has no callable tool.");
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
  return { tools: tools.filter((tool) => names.has(nameOf(tool))), tool_choice: mode ?? "auto" };
}

function nameOf(tool: Json): string {
  const { name, function: called, custom } = fieldsOf(tool);
  return textOf(name ?? fieldsOf(called ?? custom).name);
}

/** The nearest level of effort: templates and servers know `low`, `medium` and `high`. */
const EFFORTS: Record<string, string> = { none: "low", minimal: "low", xhigh: "high", max: "high" };

export const knownEffort = (effort: Json): Json =>
  typeof effort === "string" ? (EFFORTS[effort] ?? effort) : effort;

/** A function as chats describe it. */
export const functionTool = (tool: { [name: string]: Json | undefined }): Fields => {
  const { name, description, parameters, strict } = tool;
  return {
    type: "function",
    function: {
      name: name ?? "",
      ...(description && { description }),
      ...(parameters && { parameters }),
      ...(typeof strict === "boolean" && { strict }),
    },
  };
};

export const noToolsOf = (type: Json | undefined, param: string) =>
  new NotSupportedByChat(
    param,
    `the model's container has no tools of type '${textOf(type)}': it supports functions only.`,
  );
