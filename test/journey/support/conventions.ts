/** The official clients of a world, and scripts for the oracle (test/journey/models). */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { z } from "zod";
import { ANTHROPIC, type Exchange, OPENAI, Wire } from "./wire.ts";

/** A script for the oracle: test/journey/models/oracle/script.mjs describes the fields. */
export interface Script {
  say?: string[];
  think?: string[];
  refuse?: string[];
  calls?: { name: string; arguments: object }[];
  every?: number;
  wait?: number;
  gate?: string;
  finish?: string;
  fail?: { status: number; error: unknown };
  end?: "error" | "cut" | "hang" | "crash";
  echo?: true;
  mark?: string;
  tally?: string;
}

type Access = { url: string; token: string };

/** Returns the official client of the OpenAI convention. */
export function openAiOf({ url, token }: Access) {
  const wire = new Wire(OPENAI);
  const baseURL = `${url}/v1/vendora`;
  return { wire, openai: new OpenAI({ apiKey: token, baseURL, fetch: wire.fetch }) };
}
export type Setup = ReturnType<typeof openAiOf>;

/** Returns the official client of the Anthropic convention, which adds `/v1` to its base URL. */
export function anthropicOf({ url, token }: Access) {
  const wire = new Wire(ANTHROPIC);
  const baseURL = `${url}/v1/vendorb`;
  return { wire, anthropic: new Anthropic({ apiKey: token, baseURL, fetch: wire.fetch }) };
}

export const told = (script: Script) => JSON.stringify(script);

/** Returns the one message that makes the oracle follow a script. */
export const asks = (script: Script) => [{ role: "user" as const, content: told(script) }];

/** Returns the ID of the prediction that an answer names. */
export const predictionIn = ({ headers }: { headers: Headers } | Exchange): string =>
  z.uuid().parse(headers.get("auspex-prediction-id"));

const count = z.object({ asked: z.int(), answered: z.int(), left: z.int() });

/** Returns the count that the container has of the requests with this mark. */
export async function tallyOf({ openai }: Setup, model: string, mark: string) {
  const { output_text } = await openai.responses.create({ model, input: told({ tally: mark }) });
  return count.parse(JSON.parse(output_text));
}
