/**
 * Calls of the vendora convention: chat completions, responses and embeddings in the wire format of
 * OpenAI's API.
 */
import type { Compatibilities, Configuration } from "../../protocol/model.ts";
import type { VendoraCall } from "../../protocol/runner.ts";

interface Version {
  compatibilities: Compatibilities;
  configuration: Configuration;
}

/** The compatibility that a version needs for a call. */
export const COMPATIBILITY = {
  chat_completions: "vendora_chat_completions",
  responses: "vendora_responses",
  embeddings: "vendora_embeddings",
} as const satisfies Record<VendoraCall, keyof Compatibilities>;

/**
 * The call that the input of an ordinary prediction is: a container with the interface `vendora`
 * accepts nothing else. Null for all other containers.
 */
export function callOf(
  { compatibilities, configuration }: Version,
  input: object,
): VendoraCall | null {
  if (configuration.interface !== "vendora") return null;
  if ("messages" in input) return "chat_completions";
  if (compatibilities.vendora_responses) return "responses";
  return compatibilities.vendora_embeddings ? "embeddings" : "chat_completions";
}
