/** The log of a messages call and its result: its stream, and the same message as a whole. */
import { expect } from "vitest";
import { MessageStream, messageOf } from "../../../src/domain/anthropic/message-stream.ts";
import { exactText } from "../../../src/lib/exact-json.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Metrics } from "../../../src/protocol/event.ts";
import { checkedEvents, checkedMessage, type MessageEvent } from "../../published/anthropic.ts";

export const ID = "msg_0190f3a2b4c57d8e9fa0b1c2d3e4f506";

interface Asked {
  request?: { [name: string]: Json };
  metrics?: Metrics | null;
}

export const headOf = ({ request }: Asked) => ({
  id: ID,
  request: { model: "ada/chat", max_tokens: 100, ...request },
});

/** Returns the stream of these outputs and the message, which must have the same content. */
export function told(outputs: Json[], asked: Asked = {}) {
  const { metrics = null } = asked;
  const stream = new MessageStream(headOf(asked));
  const raw = [
    ...outputs.flatMap((data) => stream.take({ event: "output", data })),
    ...stream.take({ event: "done", data: { status: "succeeded", metrics } }),
  ];
  const events = checkedEvents(raw);
  // `exactText` restores numbers and names that were marked meanwhile, as in the sent answer.
  const sent: unknown = JSON.parse(exactText(messageOf(headOf(asked), outputs, metrics)));
  const message = checkedMessage(sent);
  expect(assembled(events)).toEqual(message);
  return { events, message };
}

/** Returns the message that the official client assembles from a stream. */
function assembled(events: MessageEvent[]): object {
  let message: Record<string, unknown> = {};
  const content: Record<string, unknown>[] = [];
  const json: string[] = [];
  for (const event of events) {
    switch (event.type) {
      case "message_start":
        message = { ...event.message, content };
        break;
      case "content_block_start":
        content.push({ ...event.content_block });
        json.push("");
        break;
      case "content_block_delta": {
        const block = content[event.index];
        const { delta } = event;
        if (!block) throw new Error("a delta of no block");
        if (delta.type === "text_delta") block.text += delta.text;
        if (delta.type === "thinking_delta") block.thinking += delta.thinking;
        if (delta.type === "signature_delta") block.signature = delta.signature;
        if (delta.type === "input_json_delta") json[event.index] += delta.partial_json;
        break;
      }
      case "content_block_stop": {
        const text = json[event.index];
        if (text) Object.assign(content[event.index] ?? {}, { input: parsed(text) });
        break;
      }
      case "message_delta":
        message = {
          ...message,
          ...event.delta,
          usage: { ...Object(message.usage), ...event.usage },
        };
        break;
      default:
        break;
    }
  }
  return message;
}

/** Returns the parsed JSON, or an empty object if the text is cut off. */
function parsed(text: string): object {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

export const usageOf = (counts: object) => ({
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens_details: null,
  server_tool_use: null,
  cache_creation: null,
  inference_geo: null,
  service_tier: null,
  speed: null,
  ...counts,
});

export const textBlock = (text: string) => ({ type: "text", text });
export const useBlock = (id: string, name: string, input: object) => ({
  type: "tool_use",
  id,
  name,
  input,
  caller: { type: "direct" },
});

export const delta = (delta: Json, finish_reason: string | null = null): Json => ({
  choices: [{ index: 0, delta, finish_reason }],
});

export const callDelta = (index: number, more: { id?: string; name?: string; json?: string }) =>
  delta({
    tool_calls: [
      {
        index,
        ...(more.id && { id: more.id, type: "function" }),
        function: { ...(more.name && { name: more.name }), arguments: more.json ?? "" },
      },
    ],
  });
