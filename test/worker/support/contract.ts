/** The contract of the API as tables: its endpoints, with what they take and answer, and its forms. */
import { expect } from "vitest";

/** JSON Schema, as much of it as the contract says. */
export type Expected = Record<string, unknown>;

export interface Endpoint {
  query?: Record<string, Expected>;
  headers?: Record<string, Expected>;
  body?: { required: string[]; fields: Record<string, Expected> };
  /** The type of a body that is no JSON. */
  bytes?: string;
  /** By status: the form of the answer, `page of` one, `events`, `bytes`, or nothing. */
  answers: Record<string, string[]>;
}

const text = { type: "string" };
const uuid = { type: "string", format: "uuid" };
const optionalText = { type: ["string", "null"] };
const flag = { type: "boolean", default: false };
const optionalUri = { type: ["string", "null"], format: "uri" };
const digest = { type: "string", pattern: "^sha256:[a-f0-9]{64}$" };

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
const created = { 200: ["PredictionWithIO", "events"], 202: ["PredictionWithIO"] };

const modelFields = {
  name: text,
  visibility: { $ref: "#/components/schemas/ModelVisibility" },
  description: text,
  overview: text,
  source_url: optionalUri,
  license_url: optionalUri,
  paper_url: optionalUri,
  category_slugs: { type: "array", maxItems: 20 },
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
    },
    answers: { 200: ["page of Prediction"] },
  },
  "GET /predictions/{prediction_id}": { answers: { 200: ["PredictionWithIO"] } },
  "POST /predictions/{prediction_id}/cancel": { answers: { 202: [] } },
  "DELETE /predictions/{prediction_id}": { answers: { 200: ["Nothing"] } },
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
  "POST /vendora/embeddings": {
    headers: callHeaders,
    body: { required: ["model", "input"], fields: { model: text } },
    answers: { 200: ["EmbeddingList"] },
  },
  "POST /vendora/responses": {
    headers: callHeaders,
    body: { required: ["model"], fields: { model: text, stream: {}, background: {} } },
    answers: { 200: ["Response", "events"], 202: ["Response"] },
  },
  "GET /vendora/responses/{response_id}": {
    query: { stream: flag, starting_after: { type: "integer", minimum: -1 } },
    answers: { 200: ["Response", "events"] },
  },
  "GET /vendora/responses/{response_id}/input_items": {
    query: {
      after: text,
      order: { enum: ["asc", "desc"], default: "desc" },
      limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
    },
    answers: { 200: ["ResponseItems"] },
  },
  "POST /vendora/responses/{response_id}/cancel": { answers: { 200: ["Response"] } },
  "DELETE /vendora/responses/{response_id}": { answers: { 200: ["DeletedResponse"] } },
  "GET /vendora/models": { answers: { 200: ["VendoraModels"] } },
  "GET /vendora/models/{model}": { answers: { 200: ["VendoraModel"] } },
  "GET /vendora/models/{model_owner}/{model_name}": { answers: { 200: ["VendoraModel"] } },
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
    query: required({ ...signature, size: { type: "integer", minimum: 1 } }),
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
      required: ["release_notes", "schemas", "container_image_digest"],
      fields: {
        release_notes: { type: "string", maxLength: 255 },
        schemas: { $ref: "#/components/schemas/NewSchemas" },
        container_image_digest: digest,
        compatibilities: {},
        configuration: { $ref: "#/components/schemas/Configuration" },
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
  upload_id: uuid,
  part_number: { type: "integer", minimum: 1, maximum: 10_000 },
  source_id: uuid,
  file_name: text,
  response_id: text,
  model: text,
};

/** Of each form its fields: `?` may be null, `[]` is a list. */
const predictionFields = {
  id: "uuid",
  model: "object",
  created_at: "date-time",
  updated_at: "date-time",
  status: "TaskStatus",
  setup_time: "string?",
  execution_time: "string?",
  error: "PredictionError?",
  metrics: "Metrics?",
  url: "uri",
  stream: "boolean",
};

const listedModel = {
  id: "uuid",
  name: "string",
  created_at: "date-time",
  updated_at: "date-time",
  visibility: "ModelVisibility",
  description: "string",
  owner: "Owner",
  predictions_count: "integer",
  categories: "CategorySummary[]",
  cover_image_url: "uri?",
};

const foundModel = {
  ...listedModel,
  source_url: "uri?",
  license_url: "uri?",
  paper_url: "uri?",
};

const versionSummary = {
  number: "integer",
  release_notes: "string",
  created_at: "date-time",
  container_image_digest: "string",
};

const profile = {
  avatar_url: "string",
  bio: "string",
  location: "string",
  company: "string",
  created_at: "date-time",
  updated_at: "date-time",
};

const webhookEndpoint = {
  id: "uuid",
  url: "uri",
  description: "string",
  events: "WebhookEventName[]",
  enabled: "boolean",
  secrets: "WebhookSecret[]",
  failing_since: "date-time?",
  last_error: "string?",
  notice: "string?",
  created_at: "date-time",
  updated_at: "date-time",
};

const webhookAttempt = {
  at: "date-time",
  status: "integer?",
  duration_ms: "integer?",
  error: "string?",
};

export const FORMS: Record<string, Record<string, string>> = {
  Prediction: predictionFields,
  PredictionWithIO: { ...predictionFields, input: "any", output: "any", data_removed: "boolean" },
  PredictionError: { source: "string", message: "string", detail: "any" },
  Metrics: { input_tokens: "integer", output_tokens: "integer" },
  ModelItem: listedModel,
  FoundModel: foundModel,
  Model: {
    ...foundModel,
    overview: "string",
    latest_version: "Version?",
    hardware: "HardwareSummary?",
  },
  VersionSummary: versionSummary,
  Version: {
    ...versionSummary,
    schemas: "Schemas",
    compatibilities: "Compatibilities",
    size: "integer",
    configuration: "Configuration",
  },
  Schemas: { prediction: "object" },
  Compatibilities: {
    vendora_chat_completions: "boolean",
    vendora_images_generations: "boolean",
    vendora_embeddings: "boolean",
    vendora_responses: "boolean",
    vendorb_messages: "boolean",
  },
  Configuration: {
    hardware_identifier: "string",
    variable_names: "string[]",
    image: "string",
    interface: "string",
    timeout_seconds: "number",
    max_concurrency: "integer",
    idle_seconds: "number",
  },
  Category: { name: "string", slug: "string", description: "string" },
  CategorySummary: { name: "string", slug: "string" },
  Hardware: {
    identifier: "string",
    name: "string",
    gpus: "integer",
    cpus: "integer",
    ram_per_gpu_gb: "number",
    ram_gb: "number",
    created_at: "date-time",
    price_per_hour: "number?",
  },
  HardwareSummary: { identifier: "string", name: "string" },
  Webhook: { url: "uri", secret: "string", events: "WebhookEventName[]" },
  WebhookEndpoint: webhookEndpoint,
  CreatedWebhookEndpoint: { ...webhookEndpoint, secret: "string" },
  WebhookSecret: { id: "uuid", created_at: "date-time" },
  CreatedWebhookSecret: { id: "uuid", created_at: "date-time", secret: "string" },
  WebhookTest: { ...webhookAttempt, delivered: "boolean" },
  WebhookEvent: {
    id: "string",
    event: "WebhookEventName",
    sequence: "integer",
    created_at: "date-time",
    deliveries: "WebhookDelivery[]",
  },
  WebhookDelivery: {
    endpoint_id: "uuid?",
    url: "string?",
    state: "string",
    next_attempt_at: "date-time?",
    attempts: "WebhookAttempt[]",
  },
  WebhookAttempt: webhookAttempt,
  Upload: {
    id: "uuid",
    url: "uri",
    status: "string",
    size: "integer",
    mime_type: "string",
    name: "string?",
    part_size: "integer",
    urls: "uri[]",
    parts: "UploadPart[]",
    file_url: "uri?",
    created_at: "date-time",
    expires_at: "date-time",
  },
  UploadPart: { part_number: "integer", etag: "string" },
  FileAddress: { url: "uri", expires_at: "date-time" },
  VendoraModel: { id: "string", object: "string", created: "integer", owned_by: "string" },
  VendoraModels: { object: "string", data: "VendoraModel[]" },
  DeletedResponse: { id: "string", object: "string", deleted: "boolean" },
  VendoraError: { error: "object" },
  VendoraValidationError: { detail: "ValidationIssue[]", error: "object" },
  Nothing: {},
  Problem: {
    type: "string",
    title: "string",
    status: "integer",
    detail: "string",
    request_id: "string",
  },
  ValidationError: { detail: "ValidationIssue[]" },
  ValidationIssue: { loc: "string[]", msg: "string", type: "string", input: "any", ctx: "object" },
};

export const SHAPED = {
  A: {
    Owner: { id: "uuid", username: "string", avatar_url: "string" },
    User: { id: "uuid", username: "string", name: "string", urls: "string[]", ...profile },
  },
  B: {
    Owner: { account_id: "uuid", name: "string", avatar_url: "string" },
    User: { account_id: "uuid", name: "string", display_name: "string", ...profile },
  },
};

export const ENVELOPE = {
  next_cursor: "string?",
  previous_cursor: "string?",
  next_url: "uri?",
  previous_url: "uri?",
};

export const ENUMS = {
  TaskStatus: ["pending", "started", "succeeded", "failed", "canceled"],
  ModelVisibility: ["private", "public", "restricted"],
  WebhookEventName: ["started", "output", "completed"],
};

/** Fields that an answer may lack; all others are always there. */
export const OPTIONAL: Record<string, string[]> = {
  Metrics: Object.keys(FORMS.Metrics ?? {}),
  Configuration: Object.keys(FORMS.Configuration ?? {}),
  ValidationIssue: ["input", "ctx"],
  Webhook: ["secret", "events"],
};
