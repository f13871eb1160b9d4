/** Responses of the OpenAI convention, created, read and checked as its clients do. */
import { expect } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { expectErrorBody, expectResponse, expectResponseEvent } from "../../published/validate.ts";
import { answer, newOpenAi } from "./openai.ts";
import type { WorldOptions } from "./world.ts";

export const PATH = "/v1/vendora/responses";

export interface Resource {
  id: string;
  status: string;
  output: { type: string; content: { text: string }[] }[];
  [field: string]: unknown;
}

interface StreamEvent {
  type: string;
  sequence_number: number;
  response?: Resource;
}

export async function resource(
  answering: Response | Promise<Response>,
  status = 200,
): Promise<Resource> {
  const response = await answering;
  const body = await response.json<Resource>();
  expect([response.status, body]).toEqual([status, expect.anything()]);
  expectResponse(body);
  return body;
}

export async function eventsOf(response: Response): Promise<StreamEvent[]> {
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const text = await response.clone().text();
  const events = [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(
    ([, name, data = ""]): StreamEvent => {
      const event = JSON.parse(data);
      expect(event.type).toBe(name);
      return event;
    },
  );
  for (const event of events) expectResponseEvent(event);
  return events;
}

export const numbersOf = (events: StreamEvent[]) => events.map((event) => event.sequence_number);
export const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
export const text = ({ output }: Resource) => output[0]?.content[0]?.text;

export async function refusal(answering: Promise<Response>) {
  const response = await answering;
  const body = await response.json<{ error: { code: string; param: string; message: string } }>();
  expectErrorBody(body);
  return { status: response.status, ...body.error };
}

/** Returns a model with its runner, and the calls of its clients. */
export async function newResponses(options?: WorldOptions) {
  const { client, model, user_id, fleet } = await newOpenAi(options);
  const create = (more: object = {}) => client.post(PATH, { model, input: "Go on", ...more });
  const read = (id: string) => resource(client.fetch(`${PATH}/${id}`));

  async function completed(more: object = {}, ...values: Json[]): Promise<Resource> {
    const [response] = await Promise.all([
      create(more),
      answer(fleet, ...(values.length > 0 ? values : ["on", " and on"])),
    ]);
    return resource(response);
  }

  return { client, model, user_id, fleet, create, read, completed };
}
