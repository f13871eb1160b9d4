/** A plain call that is answered after many minutes, over one connection, by an OpenAI client's path. */
import { type ClientRequest, type IncomingMessage, request as plain } from "node:http";
import { request as secure } from "node:https";
import { text } from "node:stream/consumers";
import { z } from "zod";
import type { Check } from "./check.ts";

const answer = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
});

/** For the queue, the start of the container, and the answer's way back. */
const SLACK_MS = 60_000;

/** @param seconds how long the model is silent */
export const longCall = (seconds: number): Check => ({
  name: `Call of ${seconds} s`,
  async run(visit) {
    const { url, token } = visit;
    const body = JSON.stringify({
      model: await visit.publish("patient"),
      messages: [{ role: "user", content: "Take your time." }],
      seconds,
    });
    const began = performance.now();
    const elapsed = () => `${((performance.now() - began) / 1000).toFixed(0)} s`;
    // Not fetch, which gives up by itself when no headers come for 300 s.
    const request = (url.startsWith("https:") ? secure : plain)(
      `${url}/v1/vendora/chat/completions`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        signal: AbortSignal.timeout(seconds * 1_000 + SLACK_MS),
      },
    );
    request.end(body);
    try {
      const response = await responseTo(request);
      const said = await text(response);
      if (response.statusCode !== 200)
        throw new Error(`was answered with ${response.statusCode}: ${said.slice(0, 300)}`);
      const [{ message }] = answer.parse(JSON.parse(said)).choices;
      return `answered after ${elapsed()}: “${message.content}”`;
    } catch (error) {
      throw new Error(`after ${elapsed()}: ${error instanceof Error ? error.message : error}`);
    }
  },
});

const responseTo = (request: ClientRequest) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", resolve).once("error", reject);
  });
