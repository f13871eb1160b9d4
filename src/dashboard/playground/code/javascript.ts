/** Samples in JavaScript: with fetch for Auspex's own API, with official clients for the others. */
import type { ApiId, Input } from "./bodies.ts";
import { literal } from "./literal.ts";

export const JAVASCRIPT: Record<ApiId, (origin: string, body: Input) => string> = {
  predictions: (origin, body) => `// Node.js 20 or newer. Save as run.mjs
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
}`,
  chat: (origin, body) => `${openai(origin)}
const stream = await client.chat.completions.create(${literal(body)});
for await (const { choices: [choice] } of stream) {
  process.stdout.write(choice?.delta.content ?? "");
}`,
  responses: (origin, body) => `${openai(origin)}
const stream = await client.responses.create(${literal(body)});
for await (const event of stream) {
  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
}`,
  messages: (origin, body) => `// npm install @anthropic-ai/sdk
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: ${literal(`${origin}/anthropic`)},
  authToken: process.env.AUSPEX_TOKEN,
});

const stream = client.messages.stream(${literal(body)});
stream.on("text", (text) => process.stdout.write(text));
await stream.finalMessage();`,
  embeddings: (origin, body) => `${openai(origin)}
const { data } = await client.embeddings.create(${literal(body)});
for (const { embedding } of data) console.log(embedding);`,
  images: (origin, body) => `${openai(origin, WRITE)}
const { data } = await client.images.generate(${literal(body)});
${SAVE_IMAGES}`,
  edits: (origin, body) => `${openai(origin, READ, WRITE)}
const { data } = await client.images.edit({
  image: createReadStream("picture.png"),
  ...${literal(body, "  ")},
});
${SAVE_IMAGES}`,
  speech: (origin, body) => `${openai(origin, WRITE)}
const speech = await client.audio.speech.create(${literal(body)});
await writeFile(${literal(`speech.${body.response_format}`)}, Buffer.from(await speech.arrayBuffer()));`,
  transcriptions: (origin, body) => `${openai(origin, READ)}
const { text } = await client.audio.transcriptions.create({
  file: createReadStream("speech.wav"),
  ...${literal(body, "  ")},
});
console.log(text);`,
};

const READ = 'import { createReadStream } from "node:fs";';
const WRITE = 'import { writeFile } from "node:fs/promises";';

const SAVE_IMAGES = `for (const [n, { b64_json }] of data.entries()) {
  await writeFile(\`picture-\${n + 1}.png\`, Buffer.from(b64_json, "base64"));
}`;

const openai = (origin: string, ...imports: string[]) => `// npm install openai
${[...imports, 'import OpenAI from "openai";'].join("\n")}

const client = new OpenAI({
  baseURL: ${literal(`${origin}/openai/v1`)},
  apiKey: process.env.AUSPEX_TOKEN,
});
`;
