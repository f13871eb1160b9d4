/** The table of permissions: every endpoint, and its status for each kind of caller. */
import type { Scope } from "../../../src/protocol/operator.ts";
import { VERSION } from "./catalogue.ts";
import type { Client } from "./client.ts";
import { WEBHOOK_ENDPOINTS } from "./endpoints.ts";
import { unique } from "./world.ts";

export const CALLERS = [
  "nobody",
  "a stranger",
  "the owner",
  "a token without the scope",
  "a token for another model",
] as const;

/** One status per caller, in the order of CALLERS. */
type Statuses = readonly [number, number, number, number, number];

export interface EndpointAccess {
  /** A token needs one of these scopes, or with `needsEach` all of them. */
  scopes: Scope[];
  needsEach?: true;
  hidden: Statuses;
  /** Statuses for a public or restricted model. */
  shown: Statuses;
  /**
   * The status for an account with which a private model is shared at the level `write`. Absent: the one for the
   * level `run`, which is what a public model gives a stranger.
   */
  write?: number;
  body?: (place: PathParameters) => object;
  query?: string;
}

/** Values of the path parameters. */
export type PathParameters = Record<string, string>;

const everybody: EndpointAccess = {
  scopes: ["read"],
  hidden: [200, 200, 200, 200, 200],
  shown: [200, 200, 200, 200, 200],
};
const reading: EndpointAccess = { ...everybody, hidden: [404, 404, 200, 404, 403] };
const writing: EndpointAccess = {
  scopes: ["write"],
  hidden: [401, 404, 200, 403, 403],
  shown: [401, 403, 200, 403, 403],
  body: () => ({}),
};
const running: EndpointAccess = {
  scopes: ["predict"],
  hidden: [401, 404, 202, 403, 403],
  shown: [401, 202, 202, 403, 403],
  body: () => ({ input: {} }),
};
const readingOpenAi: EndpointAccess = {
  scopes: ["read", "predict"],
  hidden: [401, 404, 200, 403, 403],
  shown: [401, 200, 200, 403, 403],
};
/** A call that the model is not compatible with: a 400 for callers who can see the model. */
const calling: EndpointAccess = {
  scopes: ["predict"],
  hidden: [401, 404, 400, 403, 403],
  shown: [401, 400, 400, 403, 403],
  body: ({ model_owner, model_name }) => ({ model: `${model_owner}/${model_name}` }),
};
/** A convention that the model is not compatible with: a 404, as if the model did not exist. */
const incompatible: EndpointAccess = {
  scopes: ["read", "predict"],
  hidden: [401, 404, 404, 403, 403],
  shown: [401, 404, 404, 403, 403],
};
/** Resources of the caller, independent of models. */
const own = (scopes: Scope[], statuses: Statuses): EndpointAccess => ({
  scopes,
  hidden: statuses,
  shown: statuses,
});

/** Statuses of lists, and of what every account has. */
const ALL_THEIRS: Statuses = [401, 200, 200, 403, 200];

/** Statuses of endpoints for the account as a whole. */
const WHOLE_ACCOUNT: Statuses = [401, 200, 200, 403, 403];

/** Statuses of endpoints of an organization whose owner is the caller. */
const MEMBERS_ONLY: Statuses = [401, 404, 200, 403, 403];

/** Webhook endpoints need `read` as well, because they pass on what it shows. */
const changing = (statuses: Statuses): EndpointAccess => ({
  ...own(["write", "read"], statuses),
  needsEach: true,
});

const MODEL = "/v1/models/:model_owner/:model_name";
const VERSIONS = `${MODEL}/versions`;
const PRICES = `${VERSIONS}/:version_number/prices`;
const VARIABLES = `${MODEL}/variables`;
const COLLABORATORS = `${MODEL}/collaborators`;
const EXAMPLES = `${MODEL}/examples`;
const PREDICTION = "/v1/predictions/:prediction_id";
const UPLOAD = "/v1/uploads/:upload_id";
const FILE = "/v1/files/:source_id/:file_name";
const WEBHOOKS = `${PREDICTION}/webhooks`;
const WEBHOOK_ENDPOINT = `${WEBHOOK_ENDPOINTS}/:endpoint_id`;
const RESPONSE = "/v1/vendora/responses/:response_id";
const CONVERSATION = "/v1/vendora/conversations/:conversation_id";
const OPENAI_MODELS = "/v1/vendora/models";
const ANTHROPIC_MODELS = "/v1/vendorb/models";
const DEPLOYMENT = "/v1/deployments/:deployment_owner/:deployment_name";
const ORGANIZATION = "/v1/organizations/:organization";

export const ENDPOINT_ACCESS: Record<string, EndpointAccess> = {
  "GET /v1/models": everybody,
  "GET /v1/models/:model_owner": everybody,
  "GET /v1/search/models": { ...everybody, query: "?q=story" },
  "GET /v1/search/users": { ...everybody, query: "?q=user" },
  "GET /v1/users": everybody,
  "GET /v1/users/:username": everybody,
  "GET /v1/model_categories": everybody,
  "GET /v1/hardware": everybody,

  [`GET ${MODEL}`]: reading,
  [`GET ${VERSIONS}`]: reading,
  [`GET ${VERSIONS}/:version_number`]: reading,

  // The body changes nothing: those for owners only are in test/worker/organizations/sharing.test.ts.
  [`PATCH ${MODEL}`]: { ...writing, write: 200 },
  [`POST ${VERSIONS}`]: {
    ...writing,
    write: 200,
    body: () => ({ ...VERSION, compatibilities: { vendora_responses: true } }),
  },

  "GET /v1/user": own(["read"], ALL_THEIRS),
  // The export is limited to the models of the token: token-access.test.ts.
  "GET /v1/user/export": own(["read"], WHOLE_ACCOUNT),
  "GET /v1/budgets": own(["read"], WHOLE_ACCOUNT),
  "POST /v1/budgets": {
    ...own(["write"], WHOLE_ACCOUNT),
    body: () => ({ limit: "1000000", window: "day" }),
  },
  "PATCH /v1/budgets/:budget_id": {
    ...own(["write"], [401, 404, 200, 403, 403]),
    body: () => ({ limit: "2000000" }),
  },
  "DELETE /v1/budgets/:budget_id": own(["write"], [401, 404, 200, 403, 403]),
  "GET /v1/audit_events": own(["read"], WHOLE_ACCOUNT),
  "GET /v1/audit_events/verify": own(["read"], WHOLE_ACCOUNT),
  "GET /v1/audit_events/export": own(["read"], WHOLE_ACCOUNT),
  "GET /v1/user/usage": own(["read"], WHOLE_ACCOUNT),
  "GET /v1/usage": own(["read"], WHOLE_ACCOUNT),
  "GET /v1/user/models": own(["read"], ALL_THEIRS),
  "PATCH /v1/user": { ...own(["write"], WHOLE_ACCOUNT), body: () => ({}) },
  "POST /v1/models": { ...own(["write"], WHOLE_ACCOUNT), body: () => ({ name: unique("model") }) },

  "POST /v1/predictions": {
    ...running,
    body: ({ model_owner, model_name }) => ({ model: `${model_owner}/${model_name}`, input: {} }),
  },
  "POST /v1/predictions/estimate": {
    ...readingOpenAi,
    scopes: ["predict"],
    body: ({ model_owner, model_name }) => ({ model: `${model_owner}/${model_name}`, input: {} }),
  },
  [`POST ${MODEL}/predictions`]: running,
  [`POST ${VERSIONS}/:version_number/predictions`]: running,

  "GET /v1/predictions": own(["read"], ALL_THEIRS),
  [`GET ${PREDICTION}`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  [`GET ${PREDICTION}/explain`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  [`GET ${PREDICTION}/stream`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  "POST /v1/client_tokens": {
    scopes: ["predict"],
    hidden: [401, 422, 200, 403, 403],
    shown: [401, 200, 200, 403, 403],
    body: ({ model_owner, model_name }) => ({
      models: [`${model_owner}/${model_name}`],
      origins: ["https://app.example.com"],
    }),
  },
  [`POST ${PREDICTION}/stream_tokens`]: {
    ...own(["read", "predict"], [401, 404, 200, 403, 403]),
    body: () => ({}),
  },
  [`POST ${PREDICTION}/cancel`]: {
    ...own(["predict"], [401, 404, 202, 403, 403]),
    body: () => ({}),
  },
  // The deletion comes after a cancel: the data of a running prediction cannot be deleted.
  [`DELETE ${PREDICTION}`]: own(["predict"], [401, 404, 200, 403, 403]),

  [`GET ${WEBHOOKS}`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  [`POST ${WEBHOOKS}/:event_id/redeliver`]: {
    ...own(["predict"], [401, 404, 202, 403, 403]),
    body: () => ({}),
  },
  [`POST ${WEBHOOK_ENDPOINTS}`]: {
    ...changing(WHOLE_ACCOUNT),
    body: ({ hook = "" }) => ({ url: hook }),
  },
  [`GET ${WEBHOOK_ENDPOINTS}`]: own(["read"], WHOLE_ACCOUNT),
  [`GET ${WEBHOOK_ENDPOINT}`]: own(["read"], [401, 404, 200, 403, 403]),
  [`PATCH ${WEBHOOK_ENDPOINT}`]: { ...changing([401, 404, 200, 403, 403]), body: () => ({}) },
  [`POST ${WEBHOOK_ENDPOINT}/secrets`]: {
    ...changing([401, 404, 200, 403, 403]),
    body: () => ({}),
  },
  [`POST ${WEBHOOK_ENDPOINT}/test`]: { ...changing([401, 404, 200, 403, 403]), body: () => ({}) },
  // The deletion comes after a second secret was added.
  [`DELETE ${WEBHOOK_ENDPOINT}/secrets/:secret_id`]: changing([401, 404, 200, 403, 403]),
  [`DELETE ${WEBHOOK_ENDPOINT}`]: changing([401, 404, 200, 403, 403]),

  "POST /v1/vendora/chat/completions": calling,
  "POST /v1/vendora/completions": calling,
  "POST /v1/vendora/embeddings": calling,
  "POST /v1/vendora/audio/speech": calling,
  "POST /v1/vendora/audio/transcriptions": calling,
  "POST /v1/vendora/audio/translations": calling,
  "POST /v1/vendora/images/generations": calling,
  "POST /v1/vendora/images/edits": calling,
  "POST /v1/vendora/moderations": calling,
  "POST /v1/vendora/rerank": calling,
  "POST /v1/vendora/responses": {
    ...running,
    body: ({ model_owner, model_name }) => ({
      model: `${model_owner}/${model_name}`,
      input: "Go on",
      background: true,
    }),
  },
  [`GET ${OPENAI_MODELS}`]: own(["read", "predict"], ALL_THEIRS),
  [`GET ${OPENAI_MODELS}/:model`]: readingOpenAi,
  [`GET ${OPENAI_MODELS}/:model_owner/:model_name`]: readingOpenAi,
  [`GET ${RESPONSE}`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  [`GET ${RESPONSE}/input_items`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  [`POST ${RESPONSE}/cancel`]: {
    ...own(["predict"], [401, 404, 200, 403, 403]),
    body: () => ({}),
  },
  // The deletion comes after a cancel, as for predictions.
  [`DELETE ${RESPONSE}`]: own(["predict"], [401, 404, 200, 403, 403]),

  // The request has no upgrade: response-socket.test.ts.
  "GET /v1/vendora/responses": own(["predict"], [401, 405, 405, 403, 405]),
  "POST /v1/vendora/responses/input_tokens": {
    scopes: ["predict"],
    hidden: [401, 404, 200, 403, 403],
    shown: [401, 200, 200, 403, 403],
    body: ({ model_owner, model_name }) => ({ model: `${model_owner}/${model_name}`, input: "x" }),
  },
  // The request has no input, so it is refused before anything runs.
  "POST /v1/vendora/responses/compact": {
    scopes: ["predict"],
    hidden: [401, 404, 422, 403, 403],
    shown: [401, 422, 422, 403, 403],
    body: ({ model_owner, model_name }) => ({ model: `${model_owner}/${model_name}` }),
  },
  "POST /v1/vendora/conversations": { ...own(["predict"], ALL_THEIRS), body: () => ({}) },
  [`GET ${CONVERSATION}`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  [`POST ${CONVERSATION}`]: {
    ...own(["predict"], [401, 404, 200, 403, 403]),
    body: () => ({ metadata: {} }),
  },
  [`POST ${CONVERSATION}/items`]: {
    ...own(["predict"], [401, 404, 200, 403, 403]),
    body: () => ({ items: [{ role: "user", content: "Go on" }] }),
  },
  [`GET ${CONVERSATION}/items`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  [`GET ${CONVERSATION}/items/:item_id`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  [`DELETE ${CONVERSATION}/items/:item_id`]: own(["predict"], [401, 404, 200, 403, 403]),
  [`DELETE ${CONVERSATION}`]: own(["predict"], [401, 404, 200, 403, 403]),

  "POST /v1/vendorb/messages": calling,
  "POST /v1/vendorb/messages/count_tokens": calling,
  [`GET ${ANTHROPIC_MODELS}`]: own(["read", "predict"], ALL_THEIRS),
  [`GET ${ANTHROPIC_MODELS}/:model`]: incompatible,
  [`GET ${ANTHROPIC_MODELS}/:model_owner/:model_name`]: incompatible,

  "POST /v1/uploads": {
    ...own(["predict"], ALL_THEIRS),
    body: () => ({ size: 1, mime_type: "text/plain" }),
  },
  [`GET ${UPLOAD}`]: own(["read", "predict"], [401, 404, 200, 403, 403]),
  // The signature of the address replaces a token.
  [`PUT ${UPLOAD}/parts/:part_number`]: { ...everybody, query: "?:part_query", body: () => ({}) },
  [`POST ${UPLOAD}/complete`]: {
    ...own(["predict"], [401, 404, 200, 403, 403]),
    body: ({ etag }) => ({ etags: [etag] }),
  },
  [`DELETE ${UPLOAD}`]: own(["predict"], [401, 404, 200, 403, 403]),
  // The request has no signature, with which everybody could read the file. A token without `read` counts as
  // none.
  [`GET ${FILE}`]: own(["read"], [401, 404, 200, 401, 403]),
  [`POST ${FILE}/addresses`]: {
    ...own(["read", "predict"], [401, 404, 200, 403, 403]),
    body: () => ({}),
  },

  [`GET ${VARIABLES}`]: {
    scopes: ["read", "write"],
    hidden: [401, 404, 200, 403, 403],
    shown: [401, 403, 200, 403, 403],
  },
  [`PUT ${VARIABLES}/:variable_name`]: { ...writing, body: () => ({ value: "hf_x" }) },
  [`DELETE ${VARIABLES}/:variable_name`]: writing,

  [`GET ${COLLABORATORS}`]: {
    scopes: ["read", "write"],
    hidden: [401, 404, 200, 403, 403],
    shown: [401, 403, 200, 403, 403],
  },
  [`PUT ${COLLABORATORS}/:account`]: { ...writing, body: () => ({ level: "run" }) },
  [`DELETE ${COLLABORATORS}/:account`]: writing,

  [`GET ${EXAMPLES}`]: reading,
  // An example shows a prediction, so it needs `read` as well.
  [`POST ${EXAMPLES}`]: {
    ...writing,
    scopes: ["write", "read"],
    needsEach: true,
    // The run is the owner's.
    write: 404,
    body: ({ prediction_id }) => ({ prediction_id }),
  },
  [`PATCH ${EXAMPLES}/:example_id`]: {
    ...writing,
    scopes: ["write", "read"],
    needsEach: true,
    write: 200,
    body: () => ({ position: 1 }),
  },
  [`DELETE ${EXAMPLES}/:example_id`]: { ...writing, write: 200 },

  [`GET ${PRICES}`]: reading,
  [`PUT ${PRICES}`]: { ...writing, body: () => ({ prices: { per_run: 1 } }) },

  [`DELETE ${VERSIONS}/:version_number`]: writing,
  [`DELETE ${MODEL}`]: writing,

  "GET /v1/deployments": own(["read"], ALL_THEIRS),
  "POST /v1/deployments": {
    scopes: ["write"],
    hidden: [401, 404, 200, 403, 403],
    shown: WHOLE_ACCOUNT,
    body: ({ model_owner, model_name }) => ({
      name: unique("deployment"),
      model: `${model_owner}/${model_name}`,
    }),
  },
  [`GET ${DEPLOYMENT}`]: own(["read"], [401, 404, 200, 403, 403]),
  [`GET ${DEPLOYMENT}/releases`]: own(["read"], [401, 404, 200, 403, 403]),
  [`PATCH ${DEPLOYMENT}`]: { ...own(["write"], [401, 404, 200, 403, 403]), body: () => ({}) },
  // There is no release before the first.
  [`POST ${DEPLOYMENT}/rollback`]: own(["write"], [401, 404, 409, 403, 403]),
  [`POST ${DEPLOYMENT}/predictions`]: {
    ...own(["predict"], [401, 404, 202, 403, 403]),
    body: () => ({ input: {} }),
  },
  // The deletion comes last: a model is not deleted while a deployment runs it.
  [`DELETE ${DEPLOYMENT}`]: own(["write"], [401, 404, 200, 403, 403]),

  // Roles in organizations: test/worker/organizations.
  "GET /v1/organizations": own(["read"], WHOLE_ACCOUNT),
  "POST /v1/organizations": {
    ...own(["write"], WHOLE_ACCOUNT),
    body: () => ({ username: unique("org") }),
  },
  "POST /v1/user/organizations": {
    ...own(["write"], [401, 404, 404, 403, 403]),
    body: ({ invitation = "ausi_unknown" }) => ({ invitation }),
  },
  [`GET ${ORGANIZATION}`]: own(["read"], MEMBERS_ONLY),
  [`PATCH ${ORGANIZATION}`]: { ...own(["write"], MEMBERS_ONLY), body: () => ({}) },
  [`GET ${ORGANIZATION}/members`]: own(["read"], MEMBERS_ONLY),
  [`PUT ${ORGANIZATION}/members/:username`]: {
    ...own(["write"], MEMBERS_ONLY),
    body: () => ({ role: "owner" }),
  },
  // The only owner cannot leave.
  [`DELETE ${ORGANIZATION}/members/:username`]: own(["write"], [401, 404, 409, 403, 403]),
  [`GET ${ORGANIZATION}/invitations`]: own(["read"], MEMBERS_ONLY),
  [`POST ${ORGANIZATION}/invitations`]: { ...own(["write"], MEMBERS_ONLY), body: () => ({}) },
  [`DELETE ${ORGANIZATION}/invitations/:invitation_id`]: own(["write"], [401, 404, 404, 403, 403]),
  [`GET ${ORGANIZATION}/tokens`]: own(["read"], MEMBERS_ONLY),
  [`POST ${ORGANIZATION}/tokens`]: {
    ...own(["write"], MEMBERS_ONLY),
    body: () => ({ name: "laptop", scopes: ["write"] }),
  },
  [`PATCH ${ORGANIZATION}/tokens/:token_id`]: {
    ...own(["write"], [401, 404, 404, 403, 403]),
    body: () => ({ limits: null }),
  },
  [`DELETE ${ORGANIZATION}/tokens/:token_id`]: own(["write"], [401, 404, 404, 403, 403]),
  [`DELETE ${ORGANIZATION}`]: own(["write"], MEMBERS_ONLY),
};

export interface EndpointCall extends Pick<EndpointAccess, "body" | "query"> {
  headers?: Record<string, string>;
}

/** @param key method and address, as in the tables */
export async function callEndpoint(
  client: Client,
  key: string,
  place: PathParameters,
  { body, query = "", headers }: EndpointCall,
) {
  const [method = "", template = ""] = key.split(" ");
  const path = (template + query).replace(
    /:(\w+)/g,
    (_, name: string) => place[name] ?? `no ${name}`,
  );
  const sent = body?.(place);
  const isForm = sent instanceof FormData || sent instanceof URLSearchParams;
  const response = await client.fetch(path, {
    method,
    headers: {
      ...(!isForm && { "content-type": "application/json" }),
      "x-request-id": "the-same",
      ...headers,
    },
    ...(sent && { body: isForm ? sent : JSON.stringify(sent) }),
  });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const text = isStream ? await response.body?.cancel() : await response.text();
  return { status: response.status, headers: [...response.headers], text };
}
