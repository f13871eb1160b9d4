/** Checks of bodies and events of the convention against both of its published descriptions. */
import { dereference, type Schema, validate } from "@cfworker/json-schema";
import { expect } from "vitest";
import { z } from "zod";
import openResponses from "./open-responses.json" with { type: "json" };
import openai from "./openai.json" with { type: "json" };
import openaiConversations from "./openai-conversations.json" with { type: "json" };

const described = z.object({
  components: z.object({
    schemas: z.record(
      z.string(),
      z.custom<Schema>((one) => typeof one === "object"),
    ),
  }),
});

/** Joins the parts of one description. */
const joined = (...parts: unknown[]) => ({
  components: {
    schemas: Object.assign({}, ...parts.map((part) => described.parse(part).components.schemas)),
  },
});

const DOCUMENTS = {
  openai: described.parse(joined(openai, openaiConversations)),
  "open-responses": described.parse(openResponses),
};
type Document = keyof typeof DOCUMENTS;

/** All parts of each description by their addresses: listing them takes as long as using them. */
const LOOKUPS = {
  openai: dereference(DOCUMENTS.openai),
  "open-responses": dereference(DOCUMENTS["open-responses"]),
};

/** Returns the objections of a description to a value: none if it is valid. */
export function objections(document: Document, schema: string, value: unknown): string[] {
  const part = DOCUMENTS[document].components.schemas[schema];
  if (!part) throw new Error(`no schema ${document}/${schema}`);
  const { errors } = validate(value, part, "2020-12", LOOKUPS[document], false);
  return errors.map((one) => `${document}: ${one.instanceLocation}: ${one.error}`);
}

export const expectChatCompletion = (value: unknown) =>
  expect(objections("openai", "CreateChatCompletionResponse", value)).toEqual([]);

export const expectChatChunk = (value: unknown) =>
  expect(objections("openai", "CreateChatCompletionStreamResponse", value)).toEqual([]);

export const expectCompletion = (value: unknown) =>
  expect(objections("openai", "CreateCompletionResponse", value)).toEqual([]);

const chunkOfCompletion = z.looseObject({
  choices: z.array(z.looseObject({ finish_reason: z.string().nullable() })),
  usage: z.looseObject({}).nullish(),
});

/**
 * Checks a chunk of a completion. The description has one shape for chunks and completions, but there is
 * neither a reason nor a usage before the last chunk.
 */
export function expectCompletionChunk(value: unknown) {
  const { usage, ...chunk } = chunkOfCompletion.parse(value);
  const choices = chunk.choices.map((choice) => ({
    ...choice,
    finish_reason: choice.finish_reason ?? "stop",
  }));
  expectCompletion({ ...chunk, choices, ...(usage && { usage }) });
}

export const expectModeration = (value: unknown) =>
  expect(objections("openai", "CreateModerationResponse", value)).toEqual([]);

export const expectEmbeddings = (value: unknown) =>
  expect(objections("openai", "CreateEmbeddingResponse", value)).toEqual([]);

export const expectErrorBody = (value: unknown) =>
  expect(objections("openai", "ErrorResponse", value)).toEqual([]);

export const expectResponse = (value: object) =>
  expect([
    ...objections("openai", "Response", READABLE.openai(value)),
    ...objections("open-responses", "ResponseResource", READABLE["open-responses"](value)),
  ]).toEqual([]);

/** Checks an event against the schema of its `type`, in each description that has one: at least one has. */
export function expectResponseEvent(event: { type: string; response?: object }) {
  const { response } = event;
  const schemas = (["openai", "open-responses"] as const).flatMap((document) =>
    eventSchemas(document, event.type).map((schema) => [document, schema] as const),
  );
  expect(schemas).not.toEqual([]);
  for (const [document, schema] of schemas) {
    const readable = response ? { ...event, response: READABLE[document](response) } : event;
    expect(objections(document, schema, readable)).toEqual([]);
  }
}

const eventSchemas = (document: Document, type: string): string[] =>
  Object.entries(DOCUMENTS[document].components.schemas)
    .filter(([name, { properties }]) => {
      const said = properties?.type;
      if (!name.endsWith("Event") || typeof said !== "object") return false;
      return said.const === type || said.enum?.includes(type);
    })
    .map(([name]) => name);

/** OpenAI's own service sends a code that its description does not list, and agents read it. */
const unlisted = z.looseObject({
  error: z.looseObject({ code: z.literal("context_length_exceeded") }),
});

function withListedCode(response: object): object {
  const { data } = unlisted.safeParse(response);
  return data ? { ...data, error: { ...data.error, code: "invalid_prompt" } } : response;
}

/** Returns a response without the fields in which the two descriptions contradict each other. */
const READABLE: Record<Document, (response: object) => object> = {
  openai(response) {
    const { usage, ...rest } = { usage: undefined, ...response };
    return withListedCode(usage ? { ...rest, usage } : rest);
  },
  "open-responses": (response) =>
    JSON.parse(JSON.stringify(response), function (key, value) {
      return key === "schema" && this.type === "json_schema" ? null : value;
    }),
};
