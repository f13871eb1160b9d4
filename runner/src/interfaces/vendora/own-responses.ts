/** Whether a server's own responses do what a call asks for: else its chats do more. */
import { bodyFields } from "../../../../src/domain/images/openapi-document.ts";
import { fieldsOf } from "../../../../src/domain/vendora/response-json.ts";
import type { Json } from "../../../../src/protocol/common.ts";
import type { ContainerClient } from "../container-client.ts";
import { PATHS } from "./request.ts";
import type { SessionParts } from "./session-parts.ts";

const ANSWER_MS = 5_000;

/** What changes an answer, and is ignored by a server that does not have it. */
const ASKED = [
  ...["max_output_tokens", "reasoning", "temperature", "text", "tool_choice", "tools"],
  ...["top_logprobs", "top_p"],
];

/**
 * By the server's description of itself, where each field is listed that it reads. llama.cpp has none: it
 * ignores `text.format`, and says `completed` of answers that were cut off.
 */
export async function ownResponsesDo(
  parts: SessionParts,
  input: Record<string, Json>,
): Promise<boolean> {
  parts.responseFields ??= describedFields(parts.client);
  const fields = await parts.responseFields;
  return fields !== undefined && ASKED.every((name) => !isAsked(input, name) || fields.has(name));
}

function isAsked(input: Record<string, Json>, name: string): boolean {
  if (name !== "text") return input[name] !== undefined && input[name] !== null;
  const { type = "text" } = fieldsOf(fieldsOf(input.text).format);
  return type !== "text";
}

async function describedFields(client: ContainerClient): Promise<Set<string> | undefined> {
  try {
    const call = { method: "GET", path: "/openapi.json", timeoutMs: ANSWER_MS } as const;
    const { status, body } = await client.call(call);
    return status === 200 ? bodyFields(body, PATHS.responses) : undefined;
  } catch {
    return undefined;
  }
}
