/** The contract of the API as tables: its endpoints, with their parameters and responses. */
import { expect } from "vitest";

/** The parts of a JSON Schema that the contract specifies. */
export type Expected = Record<string, unknown>;

export interface Endpoint {
  query?: Record<string, Expected>;
  headers?: Record<string, Expected>;
  body?: { required: string[]; fields: Record<string, Expected> };
  /** The media type of a body that is not JSON. */
  bytes?: string;
  /** Answers by status: the schema of the response, `page of` a schema, `events`, `bytes`, or nothing. */
  answers: Record<string, string[]>;
}

const text = { type: "string" };
const uuid = { type: "string", format: "uuid" };
const optionalText = { type: ["string", "null"] };
const flag = { type: "boolean", default: false };
const optionalUri = { type: ["string", "null"], format: "uri" };
const digest = { type: "string", pattern: "^sha256:[a-f0-9]{64}$" };

const moment = {
  anyOf: [
    expect.objectContaining({ format: "date" }),
    expect.objectContaining({ format: "date-time" }),
  ],
};

const pages = (maximum = 50) => ({
  cursor: text,
  page_size: { type: "integer", minimum: 5, maximum, default: 25 },
});
const required = (parameters: Record<string, Expected>) =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, one]) => [name, { ...one, required: true }]),
  );
const search = { ...pages(), q: { type: "string", minLength: 1, maxLength: 50, required: true } };
const sorting = { sort_direction: { enum: ["asc", "desc"], default: "asc" } };
const models = (maximum: number) => ({
  ...pages(maximum),
  ...sorting,
  sort_by: { enum: ["created_at", "predictions_count"], default: "created_at" },
  category_slugs: { type: "array", items: expect.objectContaining(text), maxItems: 20 },
});

const signature = {
  expires: { type: "integer" },
  signature: { type: "string", pattern: "^[\\w-]{43}$" },
};

const callHeaders = { "idempotency-key": text };
const createHeaders = { prefer: text, "validate-input": flag, "idempotency-key": text };
const predictionOptions = {
  input: { type: "object" },
  stream: flag,
  webhook: { anyOf: [{ $ref: "#/components/schemas/Webhook" }, { type: "null" }] },
  retention_seconds: { type: "integer", minimum: 60 },
};
const created = { 200: ["PredictionWithIO"], 202: ["PredictionWithIO"] };

const modelFields = {
  name: text,
  visibility: { $ref: "#/components/schemas/ModelVisibility" },
  description: optionalText,
  overview: optionalText,
  source_url: optionalUri,
  license_url: optionalUri,
  paper_url: optionalUri,
  category_slugs: { type: ["array", "null"], maxItems: 20 },
  hardware_identifier: optionalText,
};

const endpointFields = {
  url: { type: "string", format: "uri", maxLength: 2_048 },
  description: { type: "string", maxLength: 200 },
  events: {
    type: "array",
    items: { $ref: "#/components/schemas/WebhookEventName" },
    minItems: 1,
    maxItems: 3,
  },
  enabled: { type: "boolean" },
};

const itemPages = {
  after: text,
  order: { enum: ["asc", "desc"], default: "desc" },
  limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
};

export const ENDPOINTS: Record<string, Endpoint> = {
  "POST /predictions": {
    headers: createHeaders,
    body: { required: ["model", "input"], fields: { model: text, ...predictionOptions } },
    answers: created,
  },
  "POST /models/{model_owner}/{model_name}/predictions": {
    headers: createHeaders,
    body: { required: ["input"], fields: predictionOptions },
    answers: created,
  },
  "POST /models/{model_owner}/{model_name}/versions/{version_number}/predictions": {
    headers: createHeaders,
    body: { required: ["input"], fields: predictionOptions },
    answers: created,
  },
  "GET /predictions": {
    query: {
      ...pages(),
      statuses: {
        type: "array",
        items: { $ref: "#/components/schemas/TaskStatus" },
        maxItems: 5,
      },
      model: text,
      id: text,
      token: { ...text, minLength: 1, maxLength: 100 },
      created_after: moment,
      created_before: moment,
      min_execution_time: text,
    },
    answers: { 200: ["page of Prediction"] },
  },
  "GET /predictions/{prediction_id}": { answers: { 200: ["PredictionWithIO"] } },
  "POST /predictions/{prediction_id}/cancel": { answers: { 202: [] } },
  "DELETE /predictions/{prediction_id}": { answers: { 200: ["Nothing"] } },
  "GET /predictions/{prediction_id}/explain": { answers: { 200: ["Explanation"] } },
  "GET /predictions/{prediction_id}/stream": {
    query: { after_id: text },
    headers: { prefer: text, "last-event-id": text },
    answers: { 200: ["events"], 204: [] },
  },
  "GET /predictions/{prediction_id}/webhooks": { answers: { 200: ["page of WebhookEvent"] } },
  "POST /predictions/{prediction_id}/webhooks/{event_id}/redeliver": {
    query: { receiver: { anyOf: [{ type: "string", enum: ["prediction"] }, uuid] } },
    answers: { 202: ["WebhookEvent"] },
  },
  "POST /webhook-endpoints": {
    body: { required: ["url"], fields: endpointFields },
    answers: { 200: ["CreatedWebhookEndpoint"] },
  },
  "GET /webhook-endpoints": { query: pages(), answers: { 200: ["page of WebhookEndpoint"] } },
  "GET /webhook-endpoints/{endpoint_id}": { answers: { 200: ["WebhookEndpoint"] } },
  "PATCH /webhook-endpoints/{endpoint_id}": {
    body: { required: [], fields: endpointFields },
    answers: { 200: ["WebhookEndpoint"] },
  },
  "DELETE /webhook-endpoints/{endpoint_id}": { answers: { 200: ["Nothing"] } },
  "POST /webhook-endpoints/{endpoint_id}/secrets": { answers: { 200: ["CreatedWebhookSecret"] } },
  "DELETE /webhook-endpoints/{endpoint_id}/secrets/{secret_id}": { answers: { 200: ["Nothing"] } },
  "POST /webhook-endpoints/{endpoint_id}/test": { answers: { 200: ["WebhookTest"] } },
  "POST /vendora/chat/completions": {
    headers: callHeaders,
    body: {
      required: ["model", "messages"],
      fields: { model: text, messages: { type: "array", minItems: 1 } },
    },
    answers: { 200: ["ChatCompletion", "events"] },
  },
  "POST /vendora/completions": {
    headers: callHeaders,
    body: { required: ["model", "prompt"], fields: { model: text } },
    answers: { 200: ["Completion", "events"] },
  },
  "POST /vendora/moderations": {
    headers: callHeaders,
    body: { required: ["model", "input"], fields: { model: text } },
    answers: { 200: ["Moderation"] },
  },
  "POST /vendora/rerank": {
    headers: callHeaders,
    body: {
      required: ["model", "query", "documents"],
      fields: { model: text, documents: { type: "array", minItems: 1, maxItems: 2_048 } },
    },
    answers: { 200: ["Ranking"] },
  },
  "POST /vendora/embeddings": {
    headers: callHeaders,
    body: { required: ["model", "input"], fields: { model: text } },
    answers: { 200: ["EmbeddingList"] },
  },
  "POST /vendora/images/generations": {
    headers: callHeaders,
    body: { required: ["model", "prompt"], fields: { model: text, prompt: text } },
    answers: { 200: ["Images", "events"] },
  },
  "POST /vendora/images/edits": {
    headers: callHeaders,
    body: { required: ["model", "prompt"], fields: { model: text, prompt: text } },
    answers: { 200: ["Images", "events"] },
  },
  "POST /vendora/responses": {
    headers: callHeaders,
    body: { required: ["model"], fields: { model: text, stream: {}, background: {} } },
    answers: { 200: ["Response", "events"], 202: ["Response"] },
  },
  "POST /vendora/audio/speech": {
    headers: callHeaders,
    body: {
      required: ["model", "input"],
      fields: { model: text, input: { type: "string", minLength: 1 }, speed: {} },
    },
    answers: { 200: ["bytes", "events"] },
  },
  "POST /vendora/audio/transcriptions": {
    headers: callHeaders,
    body: { required: ["model", "file"], fields: { model: text, file: text, stream: {} } },
    answers: { 200: ["Transcription", "string", "events"] },
  },
  "POST /vendora/audio/translations": {
    headers: callHeaders,
    body: { required: ["model", "file"], fields: { model: text, file: text } },
    answers: { 200: ["Transcription", "string"] },
  },
  "GET /vendora/responses/{response_id}": {
    query: { stream: flag, starting_after: { type: "integer", minimum: -1 } },
    answers: { 200: ["Response", "events"] },
  },
  "GET /vendora/responses/{response_id}/input_items": {
    query: itemPages,
    answers: { 200: ["ResponseItems"] },
  },
  "POST /vendora/responses/{response_id}/cancel": { answers: { 200: ["Response"] } },
  "DELETE /vendora/responses/{response_id}": { answers: { 200: ["DeletedResponse"] } },
  "POST /vendora/responses/input_tokens": {
    headers: callHeaders,
    body: { required: [], fields: { input: {} } },
    answers: { 200: ["ResponseInputTokens"] },
  },
  "POST /vendora/responses/compact": {
    headers: callHeaders,
    body: { required: ["model"], fields: { model: text, input: {} } },
    answers: { 200: ["ResponseCompaction"] },
  },
  "POST /vendora/conversations": {
    body: { required: [], fields: { metadata: {}, items: {} } },
    answers: { 200: ["Conversation"] },
  },
  "GET /vendora/conversations/{conversation_id}": { answers: { 200: ["Conversation"] } },
  "POST /vendora/conversations/{conversation_id}": {
    body: { required: ["metadata"], fields: { metadata: {} } },
    answers: { 200: ["Conversation"] },
  },
  "DELETE /vendora/conversations/{conversation_id}": {
    answers: { 200: ["DeletedConversation"] },
  },
  "POST /vendora/conversations/{conversation_id}/items": {
    body: { required: ["items"], fields: { items: { type: "array", minItems: 1, maxItems: 20 } } },
    answers: { 200: ["ResponseItems"] },
  },
  "GET /vendora/conversations/{conversation_id}/items": {
    query: itemPages,
    answers: { 200: ["ResponseItems"] },
  },
  "GET /vendora/conversations/{conversation_id}/items/{item_id}": {
    answers: { 200: ["ConversationItem"] },
  },
  "DELETE /vendora/conversations/{conversation_id}/items/{item_id}": {
    answers: { 200: ["Conversation"] },
  },
  "GET /vendora/models": { answers: { 200: ["VendoraModels"] } },
  "GET /vendora/models/{model}": { answers: { 200: ["VendoraModel"] } },
  "GET /vendora/models/{model_owner}/{model_name}": { answers: { 200: ["VendoraModel"] } },
  "POST /vendorb/messages": {
    headers: callHeaders,
    body: {
      required: ["model", "messages", "max_tokens"],
      fields: {
        model: text,
        messages: { type: "array", minItems: 1, maxItems: 100_000 },
        max_tokens: { type: "integer", minimum: 1, maximum: 2 ** 31 - 1 },
      },
    },
    answers: { 200: ["Message", "events"] },
  },
  "POST /vendorb/messages/count_tokens": {
    headers: callHeaders,
    body: { required: ["model", "messages"], fields: { model: text } },
    answers: { 200: ["VendorbTokenCount"] },
  },
  "GET /vendorb/models": {
    query: {
      limit: { type: "integer", minimum: 1, maximum: 1_000, default: 20 },
      after_id: text,
      before_id: text,
    },
    answers: { 200: ["VendorbModels"] },
  },
  "GET /vendorb/models/{model}": { answers: { 200: ["VendorbModel"] } },
  "GET /vendorb/models/{model_owner}/{model_name}": { answers: { 200: ["VendorbModel"] } },
  "POST /uploads": {
    body: {
      required: ["size", "mime_type"],
      fields: { size: { type: "integer", minimum: 1 }, mime_type: text, name: text },
    },
    answers: { 200: ["Upload"] },
  },
  "GET /uploads/{upload_id}": { answers: { 200: ["Upload"] } },
  "DELETE /uploads/{upload_id}": { answers: { 200: ["Nothing"] } },
  "PUT /uploads/{upload_id}/parts/{part_number}": {
    query: {
      ...required({ ...signature, size: { type: "integer", minimum: 1 } }),
      holder: { type: "string", maxLength: 64 },
    },
    bytes: "application/octet-stream",
    answers: { 200: ["Nothing"] },
  },
  "POST /uploads/{upload_id}/complete": {
    body: {
      required: ["etags"],
      fields: { etags: { type: "array", minItems: 1, maxItems: 10_000 } },
    },
    answers: { 200: ["Upload"] },
  },
  "GET /files/{source_id}/{file_name}": {
    query: signature,
    headers: { range: text },
    answers: { 200: ["bytes"], 206: ["bytes"] },
  },
  "POST /files/{source_id}/{file_name}/addresses": {
    body: {
      required: [],
      fields: { expires_in: { type: "integer", minimum: 1, maximum: 604_800, default: 3_600 } },
    },
    answers: { 200: ["FileAddress"] },
  },
  "GET /user": { answers: { 200: ["User"] } },
  "GET /user/export": { query: { before: uuid }, answers: { 200: ["ExportLine"] } },
  "PATCH /user": {
    body: {
      required: [],
      fields: {
        username: text,
        name: optionalText,
        bio: optionalText,
        urls: { type: ["array", "null"] },
        location: optionalText,
        company: optionalText,
      },
    },
    answers: { 200: ["User"] },
  },
  "GET /user/usage": { answers: { 200: ["UserUsage"] } },
  "GET /user/models": { query: pages(), answers: { 200: ["page of ModelItem"] } },
  "GET /users/{username}": { answers: { 200: ["User"] } },
  "GET /users": {
    query: {
      ...pages(100),
      ...sorting,
      sort_by: { enum: ["created_at"], default: "created_at" },
    },
    answers: { 200: ["page of User"] },
  },
  "GET /search/users": { query: search, answers: { 200: ["page of User"] } },
  "POST /models": {
    body: { required: ["name"], fields: modelFields },
    answers: { 200: ["Model"] },
  },
  "GET /models": { query: models(100), answers: { 200: ["page of ModelItem"] } },
  "GET /models/{model_owner}": { query: models(50), answers: { 200: ["page of ModelItem"] } },
  "GET /models/{model_owner}/{model_name}": { answers: { 200: ["Model"] } },
  "PATCH /models/{model_owner}/{model_name}": {
    body: { required: [], fields: modelFields },
    answers: { 200: ["Model"] },
  },
  "DELETE /models/{model_owner}/{model_name}": { answers: { 200: ["Nothing"] } },
  "GET /search/models": { query: search, answers: { 200: ["page of FoundModel"] } },
  "GET /models/{model_owner}/{model_name}/versions": {
    query: pages(),
    answers: { 200: ["page of VersionSummary"] },
  },
  "POST /models/{model_owner}/{model_name}/versions": {
    body: {
      required: ["release_notes"],
      fields: {
        release_notes: { type: "string", maxLength: 255 },
        image: { anyOf: [{ type: "string", pattern: expect.any(String) }, digest] },
        schemas: { $ref: "#/components/schemas/NewSchemas" },
        container_image_digest: digest,
        compatibilities: {},
        configuration: {
          anyOf: [{ $ref: "#/components/schemas/Configuration" }, { type: "null" }],
        },
      },
    },
    answers: { 200: ["Version"] },
  },
  "GET /models/{model_owner}/{model_name}/versions/{version_number}": {
    answers: { 200: ["Version"] },
  },
  "DELETE /models/{model_owner}/{model_name}/versions/{version_number}": {
    answers: { 200: ["Nothing"] },
  },
  "GET /models/{model_owner}/{model_name}/variables": {
    query: pages(),
    answers: { 200: ["page of Variable"] },
  },
  "PUT /models/{model_owner}/{model_name}/variables/{variable_name}": {
    body: {
      required: ["value"],
      fields: { value: { type: "string", minLength: 1, maxLength: 32_768 } },
    },
    answers: { 200: ["Variable"] },
  },
  "DELETE /models/{model_owner}/{model_name}/variables/{variable_name}": {
    answers: { 200: ["Nothing"] },
  },
  "GET /models/{model_owner}/{model_name}/examples": { answers: { 200: ["page of Example"] } },
  "POST /models/{model_owner}/{model_name}/examples": {
    body: { required: ["prediction_id"], fields: { prediction_id: uuid } },
    answers: { 200: ["Example"] },
  },
  "PATCH /models/{model_owner}/{model_name}/examples/{example_id}": {
    body: {
      required: [],
      fields: {
        position: { type: "integer", minimum: 1, maximum: 12 },
        is_cover: { type: "boolean" },
      },
    },
    answers: { 200: ["Example"] },
  },
  "DELETE /models/{model_owner}/{model_name}/examples/{example_id}": {
    answers: { 200: ["Nothing"] },
  },
  "GET /model_categories": { query: pages(), answers: { 200: ["page of Category"] } },
  "GET /hardware": { query: pages(), answers: { 200: ["page of Hardware"] } },
};

export const PATH_PARAMETERS: Record<string, Expected> = {
  model_owner: text,
  model_name: text,
  username: text,
  prediction_id: uuid,
  event_id: { type: "string", pattern: expect.stringMatching(/^\^evt_/) },
  endpoint_id: uuid,
  secret_id: uuid,
  version_number: { type: "integer" },
  variable_name: { type: "string", pattern: "^[A-Z_][A-Z0-9_]{0,99}$" },
  example_id: uuid,
  upload_id: uuid,
  part_number: { type: "integer", minimum: 1, maximum: 10_000 },
  source_id: uuid,
  file_name: text,
  response_id: text,
  model: text,
};
