/** The introduction of the API documentation, and its groups of endpoints. */
import type { Components, Document } from "./types.ts";

const description = `
Auspex hosts machine-learning models and runs them on request. Create a prediction, then wait for the result, poll for it, or stream it.

## Authentication

Authenticate with an access token in the \`Authorization\` header: \`Authorization: Bearer <ACCESS_TOKEN>\`. Create one at \`/tokens\` of this deployment. Tokens begin with \`aus_\`. Keep them secret, and do not use them in client-side code.

A token acts for one user, within its scopes: \`read\` reads your resources, \`write\` changes models and your profile (and, together with \`read\`, webhook endpoints), and \`predict\` runs models. A call that needs another scope returns 403. A token can also be limited to some models: it can then access only these, their predictions and its own uploads, but not your profile, other models or webhook endpoints. Lists show what the token can access.

Public endpoints work without a token. An invalid token returns 401 everywhere, including public endpoints.

## Errors

A request that fails validation returns 422 with \`{"detail": [{"loc", "msg", "type"}]}\`. \`loc\` is the location of each error, starting with \`body\`, \`query\`, \`path\` or \`header\`. Unknown body fields, and unknown query parameters of lists and streams, are validation errors too, except in the bodies of OpenAI's and Anthropic's endpoints, which are passed to the model.

Every other error is an [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problem (\`application/problem+json\`) with \`title\`, \`status\`, \`detail\` and \`request_id\`. Resources that you cannot see return 404, as if they did not exist.

Every response has an \`x-request-id\`. Include it when you ask for help. If you send one, it is used.

## Pagination

Lists return a page of \`items\`, with \`next_cursor\` and \`previous_cursor\`, and the URLs of these pages in \`next_url\` and \`previous_url\`. They are null at the ends of the list. Pass a cursor back unchanged and with the same filters; a cursor of another list returns 422. \`page_size\` is 5 to 50, 25 by default; the lists of all models and all users allow 100. Repeat a parameter to pass several values: \`?statuses=pending&statuses=started\`.

## Uploading and downloading files

To upload a file, create an upload with the file's size, PUT each part to its URL, and complete the upload with the \`ETag\` of each part. Where an input expects a file (\`"format": "uri"\`), pass the \`url\` of a completed upload, the URL of another file of this deployment, any https URL, or a data URI. Files that a model creates appear in \`output\` as URLs.

URLs of parts and files are signed. They need no token: anyone who has one can use it until it expires. Share them with care, and use them unchanged.

## Conditional requests

Single resources and public lists have an \`ETag\`. Send it as \`If-None-Match\` to get 304 without a body if nothing has changed. Public responses can be cached for a few seconds. Private responses are not cacheable, except files, which browsers may cache for 5 minutes.

## Rate limits

Requests are counted per token and per account, or per IP address without a token; requests with a token have higher limits. Creating predictions and other writes are counted separately. Above a limit, requests return 429: wait for the number of seconds in \`Retry-After\`.

Responses report the limit that you are closest to in \`x-ratelimit-limit\`, \`x-ratelimit-remaining\` and \`x-ratelimit-reset\` (Unix seconds). Responses of \`/openai/v1\` also have them with the suffix \`-requests\`, those of \`/anthropic\` with the prefix \`anthropic-\`. \`remaining\` is an upper bound: requests that other servers count at the same time are not included.

## Versioning

The version is part of the URL: \`/v1\`. New fields can be added to responses at any time; ignore those that you do not know. The protocol of runners (\`/v1/runner\`) is not part of this API.
`.trim();

export const info: Document["info"] = {
  title: "Auspex",
  version: "1.0.0",
  description,
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

const openai = `
Chat completions, responses, completions, embeddings, moderations, images, speech and transcriptions, compatible with the API of OpenAI and its clients, and rerank as Jina and Cohere have it. Use \`/openai/v1\` of this deployment as the base URL and an access token as the API key:

\`\`\`js
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.env.AUSPEX_URL + "/openai/v1", apiKey: process.env.AUSPEX_TOKEN });
\`\`\`

Every call creates a prediction. Errors use the format of OpenAI's API.
`.trim();

const anthropic = `
Messages, compatible with the API of Anthropic, its clients and agents that are built on them. Use \`/anthropic\` of this deployment as the base URL, and an access token as the API key or as a bearer token. Clients may add \`/v1\` to it:

\`\`\`js
import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic({ baseURL: process.env.AUSPEX_URL + "/anthropic", apiKey: process.env.AUSPEX_TOKEN });
\`\`\`

Every message is a prediction. Errors use the format of Anthropic's API.
`.trim();

const webhooks = `
Webhooks notify your server about predictions. A prediction can name a receiver in \`webhook\` when it is created. Webhook endpoints of an account receive the events of all its predictions. Each delivery is a [WebhookPayload](/docs/reference/schemas#schema-WebhookPayload): the prediction at the time of the event.

Deliveries can be repeated. Use \`webhook-id\`, which is the same for every delivery of an event, to ignore duplicates. \`webhook.sequence\` orders the events of a prediction.

Deliveries are signed as in [Standard Webhooks](https://www.standardwebhooks.com): \`webhook-signature\` covers \`webhook-id\`, \`webhook-timestamp\` and the raw body. \`auspex-webhook-signature: t=<unix time>,v1=<hex>\` is the HMAC-SHA-256 of \`<t>.<body>\` with the secret as its key.

Respond with any 2xx within 10 s. All other responses, including redirects, are retried with increasing delays, 12 times in 24 h. \`Retry-After\` is honored, and 410 stops the retries. A waiting \`output\` event is replaced by the next one, which includes its data.

Receivers must use https and a public host.
`.trim();

export const tags = [
  {
    name: "Predictions",
    description: "Run models: create predictions, poll, cancel and stream them.",
  },
  { name: "Webhooks", description: webhooks },
  {
    name: "OpenAI",
    description: openai,
  },
  {
    name: "Anthropic",
    description: anthropic,
  },
  {
    name: "Uploads",
    description:
      "Upload files in parts, to use them as inputs. Uploads are visible only to their owner.",
  },
  {
    name: "Files",
    description:
      "Completed uploads and outputs of models. Read them with a signed URL, or as their owner.",
  },
  {
    name: "Models",
    description: "Models that users publish. Private models are visible only to their owner.",
  },
  {
    name: "Model versions",
    description:
      "A version is an immutable release of a model: a container image, the schemas of its input and output, and a configuration. Versions are numbered per model. Predictions that name no version run the model's `default_version`, which is the latest unless its owner chooses another.",
  },
  {
    name: "Model variables",
    description:
      "Environment variables of a model's containers, usually secrets. Values are stored encrypted and never shown again.",
  },
  {
    name: "Model examples",
    description:
      "Runs that a model's owner shows, with their input and output. They are copies, which stay when the prediction's data is removed.",
  },
  { name: "Users", description: "Users, including the one of the current token." },
  {
    name: "Categories and hardware",
    description: "Categories of models, and the hardware that they run on.",
  },
  {
    name: "Operator",
    description:
      "For operators of this deployment, with the secret `OPERATOR_TOKEN` as bearer token: manage users, tokens, hardware, categories and runners.",
  },
];

export const securitySchemes: Components["securitySchemes"] = {
  accessToken: {
    type: "http",
    scheme: "bearer",
    description: "An access token, `aus_…`, with the scopes that the call requires.",
  },
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "An access token as a key, for clients of Anthropic's API.",
  },
  operatorToken: {
    type: "http",
    scheme: "bearer",
    description: "The deployment's secret `OPERATOR_TOKEN`.",
  },
};
