// Chats that vLLM and the chat templates of Qwen, Gemma, Mistral and gpt-oss refuse.

const EFFORTS = ["low", "medium", "high"];

/** Returns the objection to a chat, or undefined if all of them accept it. */
export function objectionTo(chat) {
  const {
    messages = [],
    tools,
    stream,
    stream_options,
    logprobs,
    top_logprobs,
    reasoning_effort,
  } = chat;
  if (tools && tools.length === 0) return "tools: List should have at least 1 item";
  for (const field of ["tool_choice", "parallel_tool_calls"])
    if (chat[field] !== undefined && !tools)
      return `When using \`${field}\`, \`tools\` must be set.`;
  if (stream_options && !stream) return "Stream options can only be defined when `stream=True`.";
  if (top_logprobs > 0 && !logprobs) return "when using `top_logprobs`, `logprobs` must be set";
  if (reasoning_effort !== undefined && !EFFORTS.includes(reasoning_effort))
    return `reasoning_effort: Input should be ${EFFORTS.join(", ")}`;
  if (typeof chat.tool_choice === "object" && chat.tool_choice?.type !== "function")
    return "tool_choice.type: Input should be 'function'";
  let called = new Set();
  for (const [n, message] of messages.entries()) {
    const { role, content, tool_calls, tool_call_id } = message;
    if (!["system", "user", "assistant", "tool"].includes(role)) return "Unexpected message role.";
    if (role === "system" && n > 0) return "System message must be at the beginning.";
    if (["user", "assistant"].includes(role) && messages[n - 1]?.role === role)
      return "Conversation roles must alternate user/assistant/user/assistant/...";
    if (role !== "tool") {
      for (const call of tool_calls ?? []) {
        const problem = objectionToArguments(call.function?.arguments);
        if (problem) return problem;
      }
      called = new Set((tool_calls ?? []).map(({ id }) => id));
      continue;
    }
    if (typeof content !== "string")
      return `messages[${n}].content: Input should be a valid string`;
    if (!called.has(tool_call_id)) return `Tool call id ${tool_call_id} was not called`;
  }
  return undefined;
}

function objectionToArguments(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" ? undefined : "Arguments must be an object.";
  } catch ({ message }) {
    return message;
  }
}
