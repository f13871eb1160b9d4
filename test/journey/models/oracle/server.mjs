// The oracle: an OpenAI-compatible server like vLLM and llama.cpp, whose script can ask for any failure.

import { existsSync } from "node:fs";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { answerChat, chunksOf } from "./chat.mjs";
import { answerCompletion, completionChunks } from "./completions.mjs";
import { answerEmbeddings } from "./embeddings.mjs";
import { answerMessage, countTokens, messageEvents } from "./messages.mjs";
import { answerResponse, eventsOf } from "./responses.mjs";
import { Refusal, scriptOf } from "./script.mjs";
import { objectionTo } from "./strict.mjs";
import { Tally } from "./tally.mjs";
import { answerModeration, answerRerank } from "./verdicts.mjs";

/** The only model name that the server accepts: a request with any other name is refused. */
const SERVED = "oracle-7b-instruct";
const NATIVE = process.argv.includes("--native");

const tally = new Tally();

const CALLS = {
  "/v1/chat/completions": { whole: answerChat, pieces: chunksOf, end: "data: [DONE]\n\n" },
  "/v1/completions": {
    whole: answerCompletion,
    pieces: completionChunks,
    end: "data: [DONE]\n\n",
  },
  "/v1/embeddings": { whole: answerEmbeddings },
  "/v1/moderations": { whole: answerModeration },
  "/v1/rerank": { whole: answerRerank },
  ...(NATIVE && {
    "/v1/responses": { whole: answerResponse, pieces: eventsOf, end: "" },
    "/v1/messages": { whole: answerMessage, pieces: messageEvents, end: "" },
    "/v1/messages/count_tokens": { whole: countTokens },
  }),
};

const reply = (res, status, body) =>
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

async function post(call, req, res) {
  const body = JSON.parse(Buffer.concat(await req.toArray()).toString());
  if (body.model !== SERVED) {
    const message = `The model \`${body.model}\` does not exist.`;
    throw new Refusal(404, { message, type: "NotFoundError", param: "model", code: 404 });
  }
  const message = call.whole === answerChat ? objectionTo(body) : undefined;
  if (message) throw new Refusal(400, { message, type: "BadRequestError", param: null, code: 400 });
  const script = scriptOf(body, tally);
  const left = new AbortController();
  const over = tally.begin(script.mark);
  res.on("close", () => {
    over(res.writableFinished);
    left.abort();
  });
  if (script.fail) throw new Refusal(script.fail.status, script.fail.error);
  if (script.wait) await sleep(script.wait, undefined, { signal: left.signal });
  if (body.stream) return stream(call, body, script, res, left.signal);
  await misfortune(script, res, left.signal);
  if (res.writableEnded) return;
  return reply(res, 200, call.whole(body, script, SERVED));
}

async function stream({ pieces, end }, body, script, res, signal) {
  res.writeHead(200, { "content-type": "text/event-stream" });
  // A misfortune comes between the last piece of content and the chunk with the reason to stop.
  for (const { event, data, last } of pieces(body, script, SERVED)) {
    if (last) {
      while (script.gate && !existsSync(`.${script.gate}`)) await sleep(20, undefined, { signal });
      await misfortune(script, res, signal);
    }
    if (res.writableEnded) return;
    res.write(`${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`);
    if (script.every) await sleep(script.every, undefined, { signal });
  }
  res.end(end);
}

async function misfortune({ end }, res, signal) {
  switch (end) {
    case "hang":
      return sleep(2 ** 30, undefined, { signal });
    case "crash":
      console.log("the oracle has seen too much");
      return process.exit(3);
    case "cut":
      return res.end();
    case "error":
      return res.end(
        `data: ${JSON.stringify({ error: { message: "the GPU has melted", type: "server_error", code: 500 } })}\n\n`,
      );
  }
}

const models = {
  object: "list",
  data: [{ id: SERVED, object: "model", created: 0, owned_by: "x" }],
};

const server = http.createServer((req, res) => {
  const path = req.url.split("?")[0];
  const call = req.method === "POST" && CALLS[path];
  if (call) {
    post(call, req, res).catch((error) => {
      // The caller of a destroyed response has left.
      if (res.destroyed) return;
      const status = error instanceof Refusal ? error.status : 500;
      reply(res, status, { error: error.body ?? { message: String(error), type: "bug" } });
    });
  } else if (path === "/health") {
    res.writeHead(200).end();
  } else if (path === "/v1/models") {
    reply(res, 200, models);
  } else if (path === "/metrics") {
    const name = "vllm:num_requests_running";
    res.end(`# TYPE ${name} gauge\n${name}{engine="0"} ${tally.running}\n`);
  } else {
    reply(res, 404, { detail: "Not Found" });
  }
});
server.listen(Number(process.env.PORT), process.env.HOST);
process.on("SIGTERM", () => process.exit(0));
