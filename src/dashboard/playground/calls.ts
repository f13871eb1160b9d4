/** Code samples that make the same call as the playground. */
import { readableJson } from "../../lib/readable-json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Compatibilities } from "../../protocol/model.ts";
import { literal } from "./literal.ts";

export interface CallOptions {
  /** Scheme and host of the deployment. */
  origin: string;
  /** `owner/name`. */
  model: string;
  /** Absent for always the latest. */
  version?: number | undefined;
  input: { [name: string]: Json };
  compatibilities: Compatibilities;
}

export interface CodeSample {
  id: string;
  title: string;
  language: "sh" | "js";
  /** Needs only AUSPEX_TOKEN in the environment. */
  code: string;
}

/** One for each API that the model is compatible with, curl first. */
export function codeSamples({
  origin,
  model,
  version,
  input,
  compatibilities,
}: CallOptions): CodeSample[] {
  const reference = version === undefined ? model : `${model}:${version}`;
  const body = { model: reference, input, stream: true };
  const client = { origin, reference, input };
  return [
    { id: "curl", title: "curl", language: "sh", code: curlSample(origin, body) },
    { id: "fetch", title: "JavaScript", language: "js", code: streamingSample(origin, body) },
    ...OPENAI_CALLS.filter(({ flag }) => compatibilities[flag]).map(
      ({ id, title, code }): CodeSample => ({ id, title, language: "js", code: code(client) }),
    ),
  ];
}

const curlSample = (origin: string, body: Json) =>
  [
    `curl -N ${quoted(`${origin}/v1/predictions`)}`,
    `-H "Authorization: Bearer $AUSPEX_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(readableJson(body))}`,
  ].join(" \\\n  ");

/** Quoted for a POSIX shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

const streamingSample = (origin: string, body: Json) => `// Node.js 20 or newer. Save as run.mjs
const response = await fetch(${literal(`${origin}/v1/predictions`)}, {
  method: "POST",
  headers: {
    Authorization: \`Bearer \${process.env.AUSPEX_TOKEN}\`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify(${literal(body, "  ")}),
});
if (!response.ok) throw new Error(await response.text());

let rest = "";
for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
  const events = (rest + text).split("\\n\\n");
  rest = events.pop();
  for (const event of events) {
    const [, name, data] = /(?:^|\\n)event: ([^\\n]*)\\ndata: ([^\\n]*)/.exec(event) ?? [];
    if (name === "output") show(JSON.parse(data));
    if (name === "error") throw new Error(JSON.parse(data).message);
  }
}

function show(value) {
  process.stdout.write(typeof value === "string" ? value : \`\${JSON.stringify(value)}\\n\`);
}`;

interface Client {
  origin: string;
  /** `owner/name` or `owner/name:number`. */
  reference: string;
  input: CallOptions["input"];
}

interface OpenaiCall {
  id: string;
  title: string;
  flag: keyof Compatibilities;
  code(client: Client): string;
}

/** With OpenAI's official client. */
const OPENAI_CALLS: OpenaiCall[] = [
  {
    id: "chat",
    title: "OpenAI chat",
    flag: "vendora_chat_completions",
    code: (client) => `${clientSetup(client)}
const stream = await client.chat.completions.create(${literal(chatBody(client))});
for await (const { choices: [choice] } of stream) {
  process.stdout.write(choice?.delta.content ?? "");
}`,
  },
  {
    id: "responses",
    title: "OpenAI responses",
    flag: "vendora_responses",
    code: (client) => `${clientSetup(client)}
const stream = await client.responses.create(${literal(responseBody(client))});
for await (const event of stream) {
  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
}`,
  },
  {
    id: "embeddings",
    title: "OpenAI embeddings",
    flag: "vendora_embeddings",
    code: (client) => `${clientSetup(client)}
const { data } = await client.embeddings.create(${literal(embeddingBody(client))});
for (const { embedding } of data) console.log(embedding);`,
  },
];

const clientSetup = ({ origin }: Client) => `// npm install openai
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${literal(`${origin}/v1/vendora`)},
  apiKey: process.env.AUSPEX_TOKEN,
});`;

/** Used when the input has no prompt. */
const HELLO = "Who are you?";

function chatBody({ reference, input }: Client): Json {
  const { model, stream, messages, prompt, input: text, ...rest } = input;
  if (Array.isArray(messages)) return { ...input, model: reference, stream: true };
  const content = [prompt, text].find(isText) ?? HELLO;
  return { model: reference, messages: [{ role: "user", content }], ...rest, stream: true };
}

function responseBody({ reference, input }: Client): Json {
  const { model, stream, messages, prompt, input: text, ...rest } = input;
  const responseInput =
    [text, messages].find(Array.isArray) ?? [text, prompt].find(isText) ?? HELLO;
  return { model: reference, input: responseInput, ...rest, stream: true };
}

function embeddingBody({ reference, input }: Client): Json {
  return { input: HELLO, ...input, model: reference };
}

const isText = (value: Json | undefined): value is string =>
  typeof value === "string" && value !== "";
