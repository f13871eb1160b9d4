/** What the document says of the API as a whole: how to begin, what holds everywhere, its groups. */
import type { Components, Document } from "./types.ts";

const description = `
Auspex hosts machine-learning models and runs them on request: create a prediction, wait for it, poll it or stream its output.

## Authentication

Send an access token with every request: \`Authorization: Bearer <ACCESS_TOKEN>\`. Make one at \`/tokens\` of this deployment. It begins with \`aus_\` and stands for one user; keep it secret and out of code that runs at a client. Each token has scopes: \`read\` sees what is yours, \`write\` changes models and your profile (and, with \`read\`, webhook endpoints), \`predict\` runs models. A token without the scope that a call needs answers 403, and so does one that is for some models, for all else that is the account's: other models, what was run of them, what other tokens have uploaded, changes of the profile, new models, webhook endpoints. Lists show it what is its own.

Calls marked public work without a token too. A bad token is a 401 everywhere, on public calls as well.

## Errors

A 422 says what is wrong with a request: \`{"detail": [{"loc", "msg", "type"}]}\`, with the place of each mistake in \`loc\`, beginning with \`body\`, \`query\`, \`path\` or \`header\`. Every other error is a problem as in [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) (\`application/problem+json\`) with \`title\`, \`status\`, \`detail\` and \`request_id\`. A field that a body does not name is a 422 too, but for calls of \`/vendora\`, whose bodies are their containers'; so is a query parameter that a list does not know. What you may not see answers 404, as if it did not exist.

Every answer has an \`x-request-id\`; yours is kept when you send one. Name it when you ask for help.

## Pages

Lists come in pages: \`items\`, \`next_cursor\` and \`previous_cursor\`, and the same as whole addresses in \`next_url\` and \`previous_url\`; null where the list ends. Pass a cursor back unchanged, with the same filters: a cursor of another list is a 422. \`page_size\` is 5 to 50, 25 by default; the lists of all models and of all users go to 100. Repeat a parameter to give several values: \`?statuses=pending&statuses=started\`.

## Sending and reading files

A file of yours goes up in parts: create an upload with its size, PUT each part to its address, complete the upload with the \`ETag\` of each. Where an input wants a file (\`"format": "uri"\`) give it the \`url\` of a completed upload, an address of a file here or in the web (https), or a data URI. Files that a model makes stand in \`output\` as addresses.

Addresses of parts and files are signed: they need no token, so that whoever has one can use it until it expires. Hand them on with care, and use them unchanged.

## Conditional reads

Single resources and public lists carry an \`ETag\`. Send it back as \`If-None-Match\`: the answer is 304 without a body while nothing has changed. What is public and the same for everybody may be cached for a few seconds; nothing private is ever cacheable, but files, which a browser may keep for 5 minutes.

## Rate limits

Calls are counted per token and per account, without a token per address; a token has more. Creating predictions is counted on its own, and so is changing anything. Beyond a limit the answer is 429: wait as many seconds as \`Retry-After\` says.

Where a limit applies, \`x-ratelimit-limit\`, \`x-ratelimit-remaining\` and \`x-ratelimit-reset\` (seconds) say how much of the nearest one is left; answers of \`/v1/vendora\` have them with \`-requests\` behind, too. \`remaining\` is an upper bound: what is counted elsewhere at the same time is not in it.

## Versions

The version of the API is in the address: \`/v1\`. Fields may be added to answers at any time, so ignore those that you do not know. What runners on GPU machines speak (\`/v1/runner\`) is not part of this API.
`.trim();

export const info: Document["info"] = {
  title: "Auspex",
  version: "1.0.0",
  description,
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

const vendora = `
Chat completions, responses and embeddings, as the clients of OpenAI speak them. Give such a client \`/v1/vendora\` of this deployment as its base address and an access token as its key:

\`\`\`js
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.env.AUSPEX_URL + "/v1/vendora", apiKey: process.env.AUSPEX_TOKEN });
\`\`\`

Every call is a prediction. Errors have the convention's own body. Experimental: it changes as the convention does.
`.trim();

const webhooks = `
What becomes of predictions, posted to receivers: one that a create names in \`webhook\`, and the endpoints of an account, which are told of all its predictions. Each delivery is a [WebhookPayload](#schema-WebhookPayload): the prediction as it was when the event happened.

\`webhook-id\` is the same each time an event is delivered: drop repeats by it. \`webhook.sequence\` orders the events of a prediction.

Signed as in [Standard Webhooks](https://www.standardwebhooks.com) in \`webhook-signature\`, over \`webhook-id\`, \`webhook-timestamp\` and the raw body; and in \`auspex-webhook-signature: t=<unix time>,v1=<hex>\` with the HMAC-SHA-256 of \`<t>.<body>\`, whose key is the secret as it is written.

Any 2xx within 10 s is a delivery. Everything else, redirects too, is tried again with growing delays, 12 times in 24 h; \`Retry-After\` is honoured, and 410 ends it. An \`output\` that waits is given up for the next event, which has all that it had.

Only https and only public hosts.
`.trim();

export const tags = [
  { name: "Predictions", description: "Runs of models: created, polled, cancelled, streamed." },
  { name: "Webhooks", description: webhooks },
  {
    name: "Vendora",
    description: vendora,
  },
  {
    name: "Uploads",
    description:
      "Files of yours that come in parts, for inputs to name. For others they are not there.",
  },
  {
    name: "Files",
    description:
      "What uploads have become and what models have made: read by whoever has a signed address, or as its owner.",
  },
  {
    name: "Models",
    description:
      "What users publish. For anyone but its owner a private model, and everything about it, is not there.",
  },
  {
    name: "Model versions",
    description:
      "A version never changes: a container image by its digest, schemas of input and output, a configuration. Numbers rise by one per model; the highest runs when none is named.",
  },
  {
    name: "Model variables",
    description:
      "Secrets for a model's containers, as a rule: kept encrypted, found by them in their environment, shown to nobody again.",
  },
  { name: "Users", description: "Those who own models, among them whoever the token stands for." },
  {
    name: "Categories and hardware",
    description: "What models are sorted into, and the classes of machines that they run on.",
  },
  {
    name: "Operator",
    description:
      "For whoever runs this deployment, with the secret `OPERATOR_TOKEN` as bearer token: users, tokens, hardware, categories, the fleet of runners.",
  },
];

export const securitySchemes: Components["securitySchemes"] = {
  accessToken: {
    type: "http",
    scheme: "bearer",
    description: "An access token of a user, `aus_…`, with the scopes that the call needs.",
  },
  operatorToken: {
    type: "http",
    scheme: "bearer",
    description: "The secret `OPERATOR_TOKEN` of the deployment.",
  },
};
