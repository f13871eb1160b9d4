/** The official client of a world, that of the AI SDK and of LangChain, and what the oracle (test/journey/models) can be asked by it. */
import { createOpenAI } from "@ai-sdk/openai";
import OpenAI from "openai";
import { z } from "zod";
import { VENDORA_CHECKS } from "./vendora-checks.ts";
import { type Exchange, Wire } from "./vendora-wire.ts";

/** What test/journey/models/oracle/script.mjs knows. */
export interface Script {
  say?: string[];
  think?: string[];
  refuse?: string[];
  calls?: { name: string; arguments: object }[];
  every?: number;
  wait?: number;
  finish?: string;
  fail?: { status: number; error: unknown };
  end?: "error" | "cut" | "hang" | "crash";
  usage?: false;
  echo?: true;
  mark?: string;
  tally?: string;
  floats?: true;
}

export interface Vendora {
  openai: OpenAI;
  wire: Wire;
}

type Access = { url: string; token: string };

/** @param options of the client, which is else as whoever installs it has it. */
export function vendoraOf(
  { url, token }: Access,
  options: ConstructorParameters<typeof OpenAI>[0] = {},
): Vendora {
  const wire = new Wire(VENDORA_CHECKS);
  const baseURL = `${url}/v1/vendora`;
  return { wire, openai: new OpenAI({ apiKey: token, baseURL, fetch: wire.fetch, ...options }) };
}

/** Those that are built on the convention; LangChain takes the options of the official client. */
export function buildersOf({ url, token: apiKey }: Access) {
  const wire = new Wire(VENDORA_CHECKS);
  const { fetch } = wire;
  const baseURL = `${url}/v1/vendora`;
  return {
    wire,
    aiSdk: createOpenAI({ apiKey, baseURL, fetch }),
    langChain: { apiKey, configuration: { baseURL, fetch } },
  };
}

export const told = (script: Script) => JSON.stringify(script);

/** The one message that tells the oracle what to do. */
export const asks = (script: Script) => [{ role: "user" as const, content: told(script) }];

/** The prediction that an answer names. */
export const predictionIn = ({ headers }: Exchange): string =>
  z.uuid().parse(headers.get("auspex-prediction-id"));

const count = z.object({ asked: z.int(), answered: z.int(), left: z.int() });

/** What the container has seen of the requests with this mark. */
export async function tallyOf({ openai }: Vendora, model: string, mark: string) {
  const { choices } = await openai.chat.completions.create({
    model,
    messages: asks({ tally: mark }),
  });
  return count.parse(JSON.parse(choices[0]?.message.content ?? ""));
}
