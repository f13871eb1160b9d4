/** The contract of the API as tables: the fields of bodies. */

/** Fields by form: `?` may be null, `[]` is a list. */
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
  response: "string?",
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
    status: "VersionStatus",
    schemas: "Schemas",
    compatibilities: "Compatibilities",
    size: "integer",
    configuration: "Configuration",
  },
  Schemas: { prediction: "object", components: "SchemaComponents" },
  Compatibilities: {
    vendora_chat_completions: "boolean",
    vendora_images_generations: "boolean",
    vendora_embeddings: "boolean",
    vendora_responses: "boolean",
    vendorb_messages: "boolean",
    vendora_images_edits: "boolean",
    vendora_audio_transcriptions: "boolean",
    vendora_audio_translations: "boolean",
    vendora_audio_speech: "boolean",
    vendora_completions: "boolean",
    vendora_moderations: "boolean",
    vendora_rerank: "boolean",
  },
  Configuration: {
    hardware_identifier: "string",
    variable_names: "string[]",
    image: "string",
    interface: "string",
    timeout_seconds: "number",
    max_concurrency: "integer",
    idle_seconds: "number",
    listen_timeout_seconds: "number",
    isolation: "Isolation",
    egress: "Egress",
    weights: "Weight[]",
  },
  Variable: { name: "string", updated_at: "date-time" },
  Example: {
    id: "uuid",
    version_number: "integer",
    input: "object",
    output: "any",
    execution_time: "string?",
    created_at: "date-time",
  },
  Category: { name: "string", slug: "string", description: "string" },
  CategorySummary: { name: "string", slug: "string" },
  Hardware: {
    identifier: "string",
    pool: "string",
    name: "string",
    gpus: "integer",
    cpus: "integer",
    ram_per_gpu_gb: "number",
    ram_gb: "number",
    created_at: "date-time",
    price_per_hour: "number?",
    currency: "string",
    location_hint: "string?",
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
  VendoraModel: {
    id: "string",
    object: "string",
    created: "integer",
    owned_by: "string",
    compatibilities: "Compatibilities",
  },
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
  VersionStatus: ["ready", "awaiting_first_start"],
  ModelVisibility: ["private", "public", "restricted"],
  WebhookEventName: ["started", "output", "completed"],
  Isolation: ["model", "account", "prediction"],
};

/** Fields that an answer may lack; all other fields are always present. */
export const OPTIONAL: Record<string, string[]> = {
  Metrics: Object.keys(FORMS.Metrics ?? {}),
  Schemas: ["components"],
  Configuration: Object.keys(FORMS.Configuration ?? {}),
  ValidationIssue: ["input", "ctx"],
  Webhook: ["secret", "events"],
};
