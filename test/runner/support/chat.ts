/** The example language model as a real process, and requests of its clients. */
import { join } from "node:path";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { expect } from "vitest";
import { expectChatChunk, expectChatCompletion } from "../../published/validate.ts";
import { type Example, examplesFolder, startExample } from "./example.ts";

export const CHAT = "/v1/chat/completions";
export const question = (content: string) => [{ role: "user", content }];
/** The request of tests that need no other. */
export const key = {
  model: "chat",
  messages: question("Where is the golden key?"),
  delay_ms: 0,
  seed: 1,
};

interface Call {
  id: string;
  function: { name: string; arguments: string };
}
interface Likely {
  token: string;
  logprob: number;
  bytes: number[];
}
interface Choice {
  index: number;
  message: { content: string | null; tool_calls?: Call[] };
  logprobs: { content: (Likely & { top_logprobs: Likely[] })[] } | null;
  finish_reason: string;
}
interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}
interface Completion {
  choices: [Choice, ...Choice[]];
  usage: Usage;
}
interface Delta {
  role?: string;
  content?: string | null;
  tool_calls?: [{ index: number; id?: string; function: { name?: string; arguments: string } }];
}
interface Chunk {
  id: string;
  choices: { index: number; delta: Delta; finish_reason: string | null }[];
  usage?: Usage | null;
}

export interface Scribe extends Example {
  chat(body: object): Promise<Completion>;
  say(body: object): Promise<string>;
  /** Returns the response of a stream, unread. */
  open(body: object, signal?: AbortSignal): Promise<Response>;
  /** Returns the chunks of a stream without its end mark. */
  stream(body: object): Promise<Chunk[]>;
  /** Returns the number of requests that the model works on. */
  running(): Promise<number>;
}

export async function startScribe(): Promise<Scribe> {
  const example = await startExample(join(examplesFolder, "chat"));

  async function chat(body: object): Promise<Completion> {
    const answer = await example.send<Completion>("POST", CHAT, { ...key, ...body });
    expect(answer.status).toBe(200);
    expectChatCompletion(answer.body);
    return answer.body;
  }

  function open(body: object, signal?: AbortSignal): Promise<Response> {
    const text = JSON.stringify({ ...key, stream: true, ...body });
    return fetch(example.url + CHAT, { method: "POST", body: text, signal: signal ?? null });
  }

  return {
    ...example,
    chat,
    say: async (body) => (await chat(body)).choices[0].message.content ?? "",
    open,
    async stream(body) {
      const response = await open(body);
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      const events: string[] = [];
      const text = response.body?.pipeThrough(new TextDecoderStream());
      for await (const event of text?.pipeThrough(new EventSourceParserStream()) ?? []) {
        expect(event.event).toBeUndefined();
        events.push(event.data);
      }
      expect(events.pop()).toBe("[DONE]");
      const chunks = events.map((event) => JSON.parse(event));
      for (const chunk of chunks) expectChatChunk(chunk);
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
      return chunks;
    },
    async running() {
      const metrics = await (await fetch(`${example.url}/metrics`)).text();
      return Number(/^llamacpp:requests_processing (\d+)$/m.exec(metrics)?.[1]);
    },
  };
}
