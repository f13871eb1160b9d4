/** Sockets for responses, and what they receive. */
import { expect } from "vitest";
import { eventually } from "./eventually.ts";
import { type newResponses, PATH } from "./openai-responses.ts";

export interface Message {
  type: string;
  stream_id?: string;
  status?: number;
  error?: { code: string; param: string | null };
  response?: { id: string; output: { content: { text: string }[] }[] };
}

export const upgrade = { headers: { upgrade: "websocket" } };

type World = Pick<Awaited<ReturnType<typeof newResponses>>, "client" | "model">;

/** Opens a socket, and keeps its messages. */
export async function connectTo({ client, model }: World) {
  const { status, webSocket } = await client.fetch(PATH, upgrade);
  expect(status).toBe(101);
  if (!webSocket) throw new Error("no socket");
  const messages: Message[] = [];
  webSocket.addEventListener("message", ({ data }) => messages.push(JSON.parse(String(data))));
  webSocket.accept();
  const send = (message: object) => webSocket.send(JSON.stringify(message));
  const create = (more: object = {}) =>
    send({ type: "response.create", model, input: "Go on", ...more });
  const until = (type: string, count = 1) =>
    eventually(() =>
      expect(messages.filter((message) => message.type === type)).toHaveLength(count),
    );
  const closed = new Promise<number>((resolve) =>
    webSocket.addEventListener("close", ({ code }) => resolve(code)),
  );
  return { webSocket, messages, send, create, until, closed };
}
