/** A chat that is answered after many minutes, over one connection: streamed, and plain as long as that may last. */
import { type ClientRequest, type IncomingMessage, request as unencrypted } from "node:http";
import { request as secure } from "node:https";
import { text } from "node:stream/consumers";
import { z } from "zod";
import type { Check } from "./check.ts";
import type { Visit } from "./visit.ts";

const content = z.object({ content: z.string() });
const plainAnswer = z.object({ choices: z.tuple([z.object({ message: content })]) });
const chunk = z.object({ choices: z.tuple([z.object({ delta: content })]) });

/** Of a plain call: Cloudflare closes a connection that is silent for 400 s. */
const PLAIN_SECONDS = 380;

/** For the queue, the start of the container, and the answer's way back. */
const SLACK_MS = 60_000;

/** @param seconds how long the model is silent */
export const longCall = (seconds: number): Check => ({
  name: `Calls of ${seconds} s`,
  async run(visit) {
    const model = await visit.publish("patient");
    const both = [
      chat(visit, { model, seconds, stream: true }),
      chat(visit, { model, seconds: Math.min(seconds, PLAIN_SECONDS), stream: false }),
    ];
    return (await Promise.all(both)).join("; ");
  },
});

interface Chat {
  model: string;
  seconds: number;
  stream: boolean;
}

async function chat({ url, token }: Visit, { model, seconds, stream }: Chat): Promise<string> {
  const how = stream ? "streamed" : "plain";
  const messages = [{ role: "user", content: "Take your time." }];
  const began = performance.now();
  const elapsed = () => `${((performance.now() - began) / 1000).toFixed(0)} s`;
  // Not fetch, which gives up by itself when no headers come for 300 s.
  const request = (url.startsWith("https:") ? secure : unencrypted)(
    `${url}/v1/vendora/chat/completions`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      signal: AbortSignal.timeout(seconds * 1_000 + SLACK_MS),
    },
  );
  request.end(JSON.stringify({ model, messages, seconds, stream }));
  try {
    const response = await responseTo(request);
    const said = await text(response);
    if (response.statusCode !== 200)
      throw new Error(`was answered with ${response.statusCode}: ${said.slice(0, 300)}`);
    return `${how}: answered after ${elapsed()}, “${stream ? streamed(said) : plain(said)}”`;
  } catch (error) {
    const message = error instanceof Error ? error.message : error;
    throw new Error(`${how}, after ${elapsed()}: ${message}`);
  }
}

const plain = (said: string) => plainAnswer.parse(JSON.parse(said)).choices[0].message.content;

/** @throws Error when it ends otherwise than it should */
function streamed(said: string): string {
  const data = [...said.matchAll(/^data: (.*)$/gm)].map(([, one = ""]) => one);
  if (data.pop() !== "[DONE]") throw new Error(`the stream broke off: ${said.slice(-300)}`);
  const parsed = data.map((one) => chunk.safeParse(JSON.parse(one)));
  return parsed.map((one) => one.data?.choices[0].delta.content ?? "").join("");
}

const responseTo = (request: ClientRequest) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", resolve).once("error", reject);
  });
