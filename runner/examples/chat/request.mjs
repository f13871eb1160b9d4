// Validates chat requests, with the API's own error messages.

import { Refusal, take } from "./openai.mjs";

const ROLES = ["developer", "system", "user", "assistant", "tool", "function"];
/** Longer answers would only repeat the text. */
const MAX_TOKENS = 1000;
const MAX_CHOICES = 16;

/** The request with defaults. The default temperature suits a small model: 1 is too random here. */
export function chatRequest(body) {
  const number = (name, rule) => take(body[name], name, { type: "integer", ...rule });
  const flag = (name) => take(body[name], name, { type: "boolean", otherwise: false });
  const limit = { min: 1, otherwise: MAX_TOKENS };
  const max = Math.min(number("max_tokens", limit), number("max_completion_tokens", limit));
  const logprobs = flag("logprobs");
  const top = number("top_logprobs", { min: 0, max: 20, otherwise: 0 });
  if (top > 0 && !logprobs)
    throw wrong("top_logprobs", "'top_logprobs' needs 'logprobs' to be true.", "invalid_value");
  const format = body.response_format?.type ?? "text";
  take(format, "response_format.type", { type: "string", options: ["text"] });
  const streams = flag("stream");
  const settings = take(body.stream_options, "stream_options", { type: "object", otherwise: {} });
  const include = { type: "boolean", otherwise: false };
  const messages = messagesOf(take(body.messages, "messages", { type: "array" }));
  return {
    messages,
    stream: streams,
    usage: take(settings.include_usage, "stream_options.include_usage", include),
    choices: number("n", { min: 1, max: MAX_CHOICES, otherwise: 1 }),
    logprobs,
    tools: toolsOf(body, messages),
    delay: number("delay_ms", { min: 0, max: 1000, otherwise: 10 }),
    sampling: {
      max: Math.min(max, MAX_TOKENS),
      top,
      seed: number("seed", { otherwise: Math.floor(Math.random() * 2 ** 32) }),
      temperature: number("temperature", { type: "number", min: 0, max: 2, otherwise: 0.5 }),
      top_p: number("top_p", { type: "number", min: 0, max: 1, otherwise: 1 }),
      stop: stopsOf(body.stop),
    },
  };
}

const wrong = (param, message, code) => new Refusal(400, message, { param, code });

function stopsOf(stop) {
  const stops = [take(stop, "stop", { type: "string | array", otherwise: [] })].flat();
  if (stops.length > 4)
    throw wrong("stop", "Invalid 'stop': expected at most 4.", "array_above_max_length");
  for (const [index, one] of stops.entries()) {
    if (take(one, `stop[${index}]`, { type: "string" }) === "")
      throw wrong(`stop[${index}]`, "A stop text is empty.", "string_below_min_length");
  }
  return stops;
}

function messagesOf(messages) {
  if (messages.length === 0)
    throw wrong("messages", "Invalid 'messages': expected at least one.", "empty_array");
  return messages.map((message, index) => {
    const at = `messages[${index}]`;
    const { role, content } = take(message, at, { type: "object" });
    const must = role === "assistant" ? { otherwise: "" } : {};
    take(role, `${at}.role`, { type: "string", options: ROLES });
    const given = take(content, `${at}.content`, { type: "string | array", ...must });
    return { role, text: typeof given === "string" ? given : textOf(given, `${at}.content`) };
  });
}

/** This model accepts only text. */
function textOf(parts, at) {
  const texts = parts.map((part, index) => {
    const { type, text } = take(part, `${at}[${index}]`, { type: "object" });
    take(type, `${at}[${index}].type`, { type: "string", options: ["text"] });
    return take(text, `${at}[${index}].text`, { type: "string" });
  });
  return texts.join("\n");
}

/** Returns the functions of which one is called: none, unless the request or the question asks for one. */
function toolsOf(body, messages) {
  const tools = take(body.tools, "tools", { type: "array", otherwise: [] });
  const functions = tools.map((tool, index) => {
    const at = `tools[${index}]`;
    const { type, function: called } = take(tool, at, { type: "object" });
    take(type, `${at}.type`, { type: "string", options: ["function"] });
    take(called, `${at}.function`, { type: "object" });
    take(called.name, `${at}.function.name`, { type: "string" });
    return called;
  });
  const choice = take(body.tool_choice, "tool_choice", {
    type: "string | object",
    otherwise: "auto",
  });
  if (typeof choice === "string") {
    take(choice, "tool_choice", { type: "string", options: ["none", "auto", "required"] });
    if (choice === "required" && functions.length === 0)
      throw wrong("tool_choice", "'tool_choice' is required, and there are no tools.");
    if (choice === "auto") return functions.filter(({ name }) => isNamed(name, messages.at(-1)));
    return choice === "required" ? functions : [];
  }
  const name = take(choice.function?.name, "tool_choice.function.name", { type: "string" });
  const named = functions.filter((one) => one.name === name);
  if (named.length === 0)
    throw wrong("tool_choice", `There is no function '${name}' in tools.`, "invalid_value");
  return named;
}

/** Whether the user has just used the words of the function's name. After a call, its answer is last. */
function isNamed(name, { role, text }) {
  const words = (said) => ` ${said.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ")} `;
  return role === "user" && words(text).includes(words(name));
}
