/** The official client of the vendorb convention, the AI SDK's and LangChain's, in a world. */
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { type Script, told } from "./vendora.ts";
import { Wire } from "./vendora-wire.ts";
import { VENDORB_CHECKS } from "./vendorb-checks.ts";

type Access = { url: string; token: string };

/** It adds `/v1` to its base URL, and sends the token as a key. */
export function vendorbOf({ url, token }: Access) {
  const wire = new Wire(VENDORB_CHECKS);
  const baseURL = `${url}/v1/vendorb`;
  return { wire, anthropic: new Anthropic({ apiKey: token, baseURL, fetch: wire.fetch }) };
}
export type Vendorb = ReturnType<typeof vendorbOf>;

/** It adds nothing to its base URL, and sends the token as a bearer token. */
export function aiSdkOf({ url, token }: Access) {
  const wire = new Wire(VENDORB_CHECKS);
  const baseURL = `${url}/v1/vendorb`;
  return { wire, provider: createAnthropic({ authToken: token, baseURL, fetch: wire.fetch }) };
}

/** LangChain adds the same as the official client, which it is built on. */
export function langChainOf({ url, token: apiKey }: Access) {
  const wire = new Wire(VENDORB_CHECKS);
  const clientOptions = { fetch: wire.fetch };
  return { wire, options: { apiKey, anthropicApiUrl: `${url}/v1/vendorb`, clientOptions } };
}

/** What tells the oracle (test/journey/models) what to do. */
export const asks = (model: string, script: Script) => ({
  model,
  max_tokens: 1_000,
  messages: [{ role: "user" as const, content: told(script) }],
});

/** All text of a message. */
export const textIn = ({ content }: { content: { type: string; text?: string }[] }) =>
  content.map(({ text = "" }) => text).join("");
