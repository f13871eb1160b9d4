/** The introduction of the API documentation, and its groups of endpoints. */
import type { Components, Document } from "./types.ts";

const description = `
Auspex hosts machine-learning models and runs them on request. Create a prediction, then wait for the result, poll for it, or stream it.

## Authentication

Authenticate with an access token in the \`Authorization\` header: \`Authorization: Bearer <ACCESS_TOKEN>\`. Create one at \`/tokens\` of this deployment. Tokens start with \`aus_\`. Keep them secret, and do not use them in client-side code.

A token acts on behalf of one user, within its scopes: \`read\` reads your resources, \`write\` changes models and your profile (and, with \`read\`, webhook endpoints), and \`predict\` runs models. Operators can also create tokens with the scope \`operator\`, for the endpoints of operators. Calls without the required scope return 403. A token can also be limited to some models. It can then access only these models, their predictions and its own uploads. Lists contain only what the token can access.

Public endpoints work without a token. An invalid token always returns 401, even on public endpoints.

## Errors

A request that fails validation returns 422 with \`{"detail": [{"loc", "msg", "type"}]}\`. \`loc\` is the location of each error, starting with \`body\`, \`query\`, \`path\` or \`header\`. Unknown fields in a body, and unknown query parameters of lists and streams, are rejected. The exception are the bodies of OpenAI and Anthropic calls, which are passed to the model.

Every other error is an [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problem (\`application/problem+json\`) with \`title\`, \`status\`, \`detail\` and \`request_id\`. Resources you do not have access to return 404, as if they did not exist.

Every response has an \`x-request-id\`. Include it when you ask for help. If you send one, it is used.

## Pagination

Lists return a page of \`items\` with \`next_cursor\`, \`previous_cursor\`, \`next_url\` and \`previous_url\`, which are null at either end. Follow \`next_url\`, or pass a cursor back unchanged with the same filters. A cursor from another list returns 422. \`page_size\` is 5 to 50, 25 by default; the lists of all models and all users allow 100. Repeat a parameter to pass several values: \`?statuses=pending&statuses=started\`.

## Uploading and downloading files

To upload a file, create an upload with the file's size, PUT each part to its URL, and complete the upload with the \`ETag\` of each part. Where an input expects a file (\`"format": "uri"\`), pass the \`url\` of a completed upload, the URL of another file of this deployment, any https URL, or a data URI. Files made by a model appear in \`output\` as URLs.

URLs of parts and files are signed. Anyone with the URL can use it without a token until it expires. Share them with care, and do not change them.

## Conditional requests

Single resources and public lists have an \`ETag\`. Send it as \`If-None-Match\` to get 304 without a body if nothing has changed. Public responses can be cached for a few seconds. Private responses are never cached, except that browsers may cache files for 5 minutes.

## Rate limits

Requests are counted per token and per account, or per IP address without a token; requests with a token have higher limits. Creating predictions and other writes are counted separately. Above a limit, requests return 429. Wait for the number of seconds in \`Retry-After\`.

\`x-ratelimit-limit\`, \`x-ratelimit-remaining\` and \`x-ratelimit-reset\` (Unix seconds) describe the limit you are closest to. \`/openai/v1\` also returns them with the suffix \`-requests\`, and \`/anthropic\` with the prefix \`anthropic-\`. \`remaining\` is an upper bound, because requests counted by other servers at the same time are not included.

## Versioning

The version is part of the URL: \`/v1\`. Responses can get new fields at any time. Ignore fields you do not know. The runner protocol (\`/v1/runner\`) is not part of this API.
`.trim();

export const info: Document["info"] = {
  title: "Auspex",
  version: "1.0.0",
  description,
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

const openai = `
Chat completions, responses, completions, embeddings, moderations, images, speech and transcriptions for OpenAI's clients, and rerank in the format of Jina and Cohere. Use this deployment's \`/openai/v1\` as the base URL and an access token as the API key:

\`\`\`js
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.env.AUSPEX_URL + "/openai/v1", apiKey: process.env.AUSPEX_TOKEN });
\`\`\`

Every call creates a prediction. Errors use the format of OpenAI's API.
`.trim();

const anthropic = `
Messages for Anthropic's clients, and agents built on them. Use this deployment's \`/anthropic\` as the base URL, with or without \`/v1\`, and an access token as the API key or bearer token:

\`\`\`js
import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic({ baseURL: process.env.AUSPEX_URL + "/anthropic", apiKey: process.env.AUSPEX_TOKEN });
\`\`\`

Every message is a prediction. Errors use the format of Anthropic's API.
`.trim();

const webhooks = `
Webhooks notify your server when a prediction starts, has new output or finishes. Set \`webhook\` for a single prediction, or create a webhook endpoint to receive the events of all your predictions. The body of a delivery is a [WebhookPayload](/docs/reference/schemas#schema-WebhookPayload): the prediction at the time of the event.

An event can be delivered more than once, with the same \`webhook-id\`. Use it to ignore duplicates. Use \`webhook.sequence\` to order the events of a prediction.

Deliveries are signed as in [Standard Webhooks](https://www.standardwebhooks.com): \`webhook-signature\` covers \`webhook-id\`, \`webhook-timestamp\` and the raw body. \`auspex-webhook-signature: t=<unix time>,v1=<hex>\` is the HMAC-SHA-256 of \`<t>.<body>\` with the secret as its key.

Respond with any 2xx within 10 s. Everything else is retried with increasing delays, including redirects: 12 attempts in 24 h. \`Retry-After\` is honored, and 410 stops retries. A pending \`output\` event is replaced by the next event, which includes its data.

The receiver needs an https URL on a public host.
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
    description: "Upload files in parts and use them as inputs. Only their owner can see uploads.",
  },
  {
    name: "Files",
    description:
      "Completed uploads and output files. Read them with a signed URL, or with the owner's token.",
  },
  {
    name: "Models",
    description: "Models published by users. Only their owner can see private models.",
  },
  {
    name: "Model versions",
    description:
      "A version is an immutable release of a model: a container image, the schemas of its input and output, and a configuration. Versions are numbered per model. Predictions without a version number run the model's `default_version`: the latest version, unless the owner chooses another.",
  },
  {
    name: "Model variables",
    description:
      "Environment variables for a model's containers, usually secrets. Values are encrypted and never returned.",
  },
  {
    name: "Model examples",
    description:
      "Runs pinned by a model's owner, with input and output. They are copies, and are kept when the prediction's data is removed.",
  },
  {
    name: "Model collaborators",
    description: "The users and organizations that a model is shared with.",
  },
  {
    name: "Deployments",
    description:
      "Names of your account that run one version, on hardware and with limits of their own. Use `owner/name` of a deployment wherever a model is named. Only its account can see and run a deployment.",
  },
  { name: "Users", description: "Users, including your own profile." },
  {
    name: "Organizations",
    description: "Accounts that several people share, each with a role.",
  },
  {
    name: "Budgets",
    description:
      "Limits of what an account, a member of an organization or an access token spends in a day, a week, a month or in total.",
  },
  {
    name: "Audit log",
    description: "Who changed what in your account, and what operators looked up.",
  },
  {
    name: "Categories and hardware",
    description: "Model categories, and the hardware models run on.",
  },
  {
    name: "Operator",
    description:
      "Manage users, operators, tokens, hardware, categories and runners. Only operators can call these endpoints, with an access token that has the scope `operator`.",
  },
];

export const securitySchemes: Components["securitySchemes"] = {
  accessToken: {
    type: "http",
    scheme: "bearer",
    description:
      "An access token, `aus_…`, with the scopes the call requires; for endpoints of operators, the scope `operator`.",
  },
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "An access token, for clients of Anthropic's API.",
  },
  operatorToken: {
    type: "http",
    scheme: "bearer",
    description:
      "The deployment's secret `OPERATOR_TOKEN`, for setting the deployment up and for recovery.",
  },
};
