// A server that speaks the OpenAI convention, steered by the text of the last message.

import http from "node:http";

// `FIXED_PORT` is like a flag in its image, which `PORT` does not change.
const { HOST, PORT, LLAMA_ARG_HOST, LLAMA_ARG_PORT, FIXED_PORT = PORT, SETUP } = process.env;
const model = "parrot-7b";
const working = new Set();

/** The number of looks that a loud start takes, each with a line. */
let loading = SETUP === "loud" ? 3 : 0;
if (SETUP === "fail") {
  console.log("no weights: the key hunter2 was refused");
  process.exit(3);
}

if (LLAMA_ARG_HOST !== HOST || LLAMA_ARG_PORT !== PORT) process.exit(2);

const reply = (response, status, body) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

const chunk = (content) =>
  `data: ${JSON.stringify({ model, choices: [{ index: 0, delta: { content } }] })}\n\n`;

const begin = (response) => response.writeHead(200, { "content-type": "text/event-stream" });

/** Answers as requested: as a stream, or in one piece. */
function answer(response, { stream }, content) {
  if (!stream) return reply(response, 200, { model, choices: [{ message: { content } }] });
  begin(response).write(chunk(content));
  response.end("data: [DONE]\n\n");
}

const ways = {
  async say(response, { words = [], usage }) {
    begin(response);
    for (const word of words) response.write(chunk(word));
    if (usage) response.write(`data: ${JSON.stringify({ model, choices: [], usage })}\n\n`);
    response.end("data: [DONE]\n\n");
  },
  async hang(response) {
    begin(response).write(chunk("waiting"));
  },
  async deaf(response) {
    begin(response).write(chunk("waiting"));
    working.add("for ever");
  },
  async crash(response) {
    begin(response).write(chunk("last words"));
    process.stdout.write("segmentation fault\n");
    setTimeout(() => process.exit(139), 5);
  },
  async echo(response, body) {
    answer(response, body, JSON.stringify(body));
  },
  async raw(response, { text }) {
    begin(response).write(`data: ${text}\n\n`);
    response.end("data: [DONE]\n\n");
  },
  async broken(response) {
    reply(response, 500, { error: { message: "no such grammar" } });
  },
  async refuse(response) {
    const error = { message: "too hot", type: "BadRequestError", param: "temperature", code: 400 };
    reply(response, 400, { error });
  },
  async pid(response, body) {
    answer(response, body, String(process.pid));
  },
};

http
  .createServer(async (request, response) => {
    if (request.url === "/health") {
      if (loading > 0) console.log(`löading layer ${loading--}`);
      else return response.writeHead(200).end();
      return response.writeHead(503).end();
    }
    if (request.url === "/metrics") {
      return response.end(`# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="${model}",runner="mine"} 3.0
llamacpp:requests_processing ${working.size}
`);
    }
    if (request.url === "/v1/models") return reply(response, 200, { data: [{ id: model }] });
    if (request.url !== "/v1/chat/completions")
      return reply(response, 404, { detail: "Not Found" });
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    working.add(response);
    response.on("close", () => working.delete(response));
    await ways[body.way](response, body);
  })
  .listen(Number(FIXED_PORT), HOST);
