/** Messages of the Anthropic convention, created and read as its clients do. */
import { expect } from "vitest";
import { checkedError, checkedEvents } from "../../published/anthropic.ts";
import type { Client } from "./client.ts";
import { MESSAGES } from "./openai.ts";

export const PATH = "/v1/vendorb/messages";

export const asking = (model: string, more: object = {}) => ({
  model,
  max_tokens: 100,
  messages: MESSAGES,
  ...more,
});

export const ask = (
  client: Client,
  model: string,
  more: object = {},
  headers: Record<string, string> = {},
) => client.post(PATH, asking(model, more), headers);

/** Returns the data of a stream's events, each of which has the name of its type; comments are left out. */
async function toldBy(response: Response): Promise<{ type: string }[]> {
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const text = await response.text();
  return [...text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, name, data = ""]) => {
    const event = JSON.parse(data);
    expect(event.type).toBe(name);
    return event;
  });
}

/** Returns the checked events of a stream that has ended. */
export const eventsOf = async (response: Response) => checkedEvents(await toldBy(response));

export async function errorOf(answering: Promise<Response>) {
  const response = await answering;
  const body = await response.json();
  const { error, request_id } = checkedError(body);
  expect(request_id).toBe(response.headers.get("request-id"));
  return { status: response.status, ...error, retry: response.headers.get("x-should-retry") };
}
