/** The official client of the Anthropic convention, the AI SDK's and LangChain's, in a world. */
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { ANTHROPIC_CHECKS } from "./anthropic-checks.ts";
import { type Script, told } from "./openai.ts";
import { Wire } from "./openai-wire.ts";

type Access = { url: string; token: string };

/** Returns the official client, which adds `/v1` to its base URL, and sends the token as a key. */
export function anthropicOf({ url, token }: Access) {
  const wire = new Wire(ANTHROPIC_CHECKS);
  const baseURL = `${url}/v1/vendorb`;
  return { wire, anthropic: new Anthropic({ apiKey: token, baseURL, fetch: wire.fetch }) };
}
export type Setup = ReturnType<typeof anthropicOf>;

/** Returns the AI SDK's client, which adds nothing to its base URL, and sends the token as a bearer token. */
export function aiSdkOf({ url, token }: Access) {
  const wire = new Wire(ANTHROPIC_CHECKS);
  const baseURL = `${url}/v1/vendorb`;
  return { wire, provider: createAnthropic({ authToken: token, baseURL, fetch: wire.fetch }) };
}

/**
 * Returns LangChain's options. LangChain is built on the official client, and adds the same to its base URL.
 */
export function langChainOf({ url, token: apiKey }: Access) {
  const wire = new Wire(ANTHROPIC_CHECKS);
  const clientOptions = { fetch: wire.fetch };
  return { wire, options: { apiKey, anthropicApiUrl: `${url}/v1/vendorb`, clientOptions } };
}

/** Returns a request whose message makes the oracle (test/journey/models) follow a script. */
export const asks = (model: string, script: Script) => ({
  model,
  max_tokens: 1_000,
  messages: [{ role: "user" as const, content: told(script) }],
});

/** Returns all text of a message. */
export const textIn = ({ content }: { content: { type: string; text?: string }[] }) =>
  content.map(({ text = "" }) => text).join("");
