/** Samples in JavaScript, with official clients: those of Replicate, OpenAI and Anthropic. */
import type { ApiId, Input } from "./bodies.ts";
import { literal } from "./literal.ts";

export const JAVASCRIPT: Record<ApiId, (origin: string, body: Input, streams: boolean) => string> =
  {
    predictions: (origin, { model, input = {} }, streams) => `// npm install replicate
import Replicate from "replicate";

const baseUrl = ${literal(`${origin}/replicate/v1`)};
${replicateCall(streams, `${literal(model ?? "")}, { input: ${literal(input)} }`)}`,
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

const baseURL = ${literal(`${origin}/anthropic`)};
const client = new Anthropic({ authToken: process.env.AUSPEX_TOKEN, baseURL });
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

const replicateCall = (streams: boolean, call: string) =>
  streams
    ? `const replicate = new Replicate({ auth: process.env.AUSPEX_TOKEN, baseUrl });
for await (const event of replicate.stream(${call})) process.stdout.write(String(event));`
    : `const replicate = new Replicate({ auth: process.env.AUSPEX_TOKEN, baseUrl, useFileOutput: false });
console.log(await replicate.run(${call}));`;

const READ = 'import { createReadStream } from "node:fs";';
const WRITE = 'import { writeFile } from "node:fs/promises";';

const SAVE_IMAGES = `for (const [n, { b64_json }] of data.entries()) {
  await writeFile(\`picture-\${n + 1}.png\`, Buffer.from(b64_json, "base64"));
}`;

const openai = (origin: string, ...imports: string[]) => `// npm install openai
${[...imports, 'import OpenAI from "openai";'].join("\n")}

const baseURL = ${literal(`${origin}/openai/v1`)};
const client = new OpenAI({ apiKey: process.env.AUSPEX_TOKEN, baseURL });`;
