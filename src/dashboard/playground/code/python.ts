/** Samples in Python, with official clients: those of Replicate, OpenAI and Anthropic. */
import type { ApiId, Input } from "./bodies.ts";
import { pythonArguments, pythonLiteral } from "./literal.ts";

export const PYTHON: Record<ApiId, (origin: string, body: Input, streams: boolean) => string> = {
  predictions: (origin, { model, input = {} }, streams) => `# pip install replicate
import os, replicate

base_url = ${pythonLiteral(`${origin}/replicate/v1`)}
client = replicate.Client(os.environ["AUSPEX_TOKEN"], base_url=base_url)
${replicateCall(streams, `${pythonLiteral(model ?? "")}, input=${pythonLiteral(input)}`)}`,
  chat: (origin, body) => `${openai(origin)}
stream = client.chat.completions.create(
${pythonArguments(body, CHAT)})
for chunk in stream:
    for choice in chunk.choices[:1]:
        print(choice.delta.content or "", end="", flush=True)`,
  responses: (origin, body) => `${openai(origin)}
stream = client.responses.create(
${pythonArguments(body, RESPONSES)})
for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)`,
  messages: (origin, body) => `# pip install anthropic
import os
from anthropic import Anthropic

base_url = ${pythonLiteral(`${origin}/anthropic`)}
client = Anthropic(auth_token=os.environ["AUSPEX_TOKEN"], base_url=base_url)
with client.messages.stream(
${pythonArguments(body, MESSAGES)}) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)`,
  embeddings: (origin, body) => `${openai(origin)}
result = client.embeddings.create(
${pythonArguments(body, EMBEDDINGS)})
for item in result.data:
    print(item.embedding)`,
  images: (origin, body) => `${openai(origin, "base64")}
result = client.images.generate(
${pythonArguments(body, IMAGES)})
${SAVE_IMAGES}`,
  edits: (origin, body) => `${openai(origin, "base64")}
result = client.images.edit(
    image=open("picture.png", "rb"),
${pythonArguments(body, IMAGES)})
${SAVE_IMAGES}`,
  speech: (origin, body) => `${openai(origin)}
with client.audio.speech.with_streaming_response.create(
${pythonArguments(body, SPEECH)}) as speech:
    speech.stream_to_file(${pythonLiteral(`speech.${body.response_format}`)})`,
  transcriptions: (origin, body) => `${openai(origin)}
result = client.audio.transcriptions.create(
    file=open("speech.wav", "rb"),
${pythonArguments(body, TRANSCRIPTIONS)})
print(result.text)`,
};

const replicateCall = (streams: boolean, call: string) =>
  streams
    ? `for event in client.stream(${call}):
    print(event, end="", flush=True)`
    : `print(client.run(${call}))`;

const words = (text: string) => text.split(" ");

/** Arguments that the Python clients take; they refuse others. */
const CHAT = words(
  "model messages stream stream_options tools tool_choice temperature top_p max_tokens max_completion_tokens seed stop n logprobs top_logprobs presence_penalty frequency_penalty response_format parallel_tool_calls reasoning_effort",
);
const RESPONSES = words(
  "model input instructions stream tools tool_choice temperature top_p max_output_tokens reasoning text store parallel_tool_calls",
);
const MESSAGES = words(
  "model max_tokens system messages tools tool_choice temperature top_p top_k stop_sequences thinking",
);
const EMBEDDINGS = words("model input dimensions encoding_format");
const IMAGES = words("model prompt n size quality background output_format response_format");
const SPEECH = words("model input voice instructions response_format speed");
const TRANSCRIPTIONS = words("model language prompt response_format temperature");

const SAVE_IMAGES = `for n, image in enumerate(result.data, 1):
    with open(f"picture-{n}.png", "wb") as file:
        file.write(base64.b64decode(image.b64_json))`;

const openai = (origin: string, ...imports: string[]) => `# pip install openai
import ${[...imports, "os"].join(", ")}
from openai import OpenAI

base_url = ${pythonLiteral(`${origin}/openai/v1`)}
client = OpenAI(api_key=os.environ["AUSPEX_TOKEN"], base_url=base_url)`;
