/**
 * The check whether a server's own responses can do what a call asks for; otherwise its chat completions do
 * more.
 */
import { bodyFields } from "../../../../src/domain/images/openapi-document.ts";
import { fieldsOf } from "../../../../src/lib/fields.ts";
import type { Json } from "../../../../src/protocol/common.ts";
import type { ContainerClient } from "../container-client.ts";
import { PATHS } from "./request.ts";
import type { SessionParts } from "./session-parts.ts";

const ANSWER_MS = 5_000;

/** Fields that change an answer, and that a server without them ignores. */
const ASKED = [
  ...["max_output_tokens", "reasoning", "temperature", "text", "tool_choice", "tools"],
  ...["top_logprobs", "top_p"],
];

/**
 * Returns whether the server's own endpoint reads all fields that the input has, by the server's description
 * of itself. llama.cpp has no description: it ignores `text.format`, and reports cut answers as `completed`.
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
