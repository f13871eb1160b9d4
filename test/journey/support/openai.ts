/**
 * The official client of a world, those of the AI SDK and LangChain, and scripts for the oracle
 * (test/journey/models).
 */
import { createOpenAI } from "@ai-sdk/openai";
import OpenAI from "openai";
import { z } from "zod";
import { OPENAI_CHECKS } from "./openai-checks.ts";
import { type Exchange, Wire } from "./openai-wire.ts";

/** A script for the oracle: test/journey/models/oracle/script.mjs describes the fields. */
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

export interface Setup {
  openai: OpenAI;
  wire: Wire;
}

type Access = { url: string; token: string };

/** Returns the official client. @param options of the client, which otherwise has its defaults */
export function openAiOf(
  { url, token }: Access,
  options: ConstructorParameters<typeof OpenAI>[0] = {},
): Setup {
  const wire = new Wire(OPENAI_CHECKS);
  const baseURL = `${url}/v1/vendora`;
  return { wire, openai: new OpenAI({ apiKey: token, baseURL, fetch: wire.fetch, ...options }) };
}

/** Returns clients of libraries for the convention; LangChain takes the options of the official client. */
export function buildersOf({ url, token: apiKey }: Access) {
  const wire = new Wire(OPENAI_CHECKS);
  const { fetch } = wire;
  const baseURL = `${url}/v1/vendora`;
  return {
    wire,
    aiSdk: createOpenAI({ apiKey, baseURL, fetch }),
    langChain: { apiKey, configuration: { baseURL, fetch } },
  };
}

export const told = (script: Script) => JSON.stringify(script);

/** Returns the one message that makes the oracle follow a script. */
export const asks = (script: Script) => [{ role: "user" as const, content: told(script) }];

/** Returns the ID of the prediction that an answer names. */
export const predictionIn = ({ headers }: Exchange): string =>
  z.uuid().parse(headers.get("auspex-prediction-id"));

const count = z.object({ asked: z.int(), answered: z.int(), left: z.int() });

/** Returns the count that the container has of the requests with this mark. */
export async function tallyOf({ openai }: Setup, model: string, mark: string) {
  const { choices } = await openai.chat.completions.create({
    model,
    messages: asks({ tally: mark }),
  });
  return count.parse(JSON.parse(choices[0]?.message.content ?? ""));
}
