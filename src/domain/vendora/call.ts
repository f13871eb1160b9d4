/** Which call of the vendora convention an input is the body of. */
import type { Compatibilities, Configuration } from "../../protocol/model.ts";
import type { VendoraCall } from "../../protocol/runner.ts";

interface Version {
  compatibilities: Compatibilities;
  configuration: Configuration;
}

/** The flag of a version's compatibilities that allows a call. */
export const COMPATIBILITY = {
  chat_completions: "vendora_chat_completions",
  responses: "vendora_responses",
  embeddings: "vendora_embeddings",
} as const satisfies Record<VendoraCall, keyof Compatibilities>;

/**
 * Of a prediction that was created as any other: a container that speaks the convention has no
 * other way to be asked. Null for all other containers.
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
