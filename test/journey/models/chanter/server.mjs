// A server of speech in both directions. The input of speech is a script: pieces, and how it ends.

import { createHash } from "node:crypto";
import http from "node:http";

const SERVED = "chanter-1";

let running = 0;

const reply = (res, status, body) =>
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

const refuse = (res, message, param) =>
  reply(res, 400, { error: { message, type: "invalid_request_error", param, code: null } });

const event = (res, body) => res.write(`data: ${JSON.stringify(body)}\n\n`);

const TYPES = { mp3: "audio/mpeg", wav: "audio/wav", pcm: "audio/pcm" };

/** `input` is a script: { pieces, times (that the last one comes), tail, hang, cut }. */
async function speak(req, res) {
  const body = JSON.parse(Buffer.concat(await req.toArray()).toString());
  const { response_format = "mp3", stream_format, model, voice } = body;
  if (model !== SERVED) return refuse(res, `The model \`${model}\` does not exist`, "model");
  if (voice === "nobody") return refuse(res, "There is no such voice", "voice");
  const { pieces = ["a"], times = 1, hang, cut, tail = "" } = JSON.parse(body.input);
  const isEvents = stream_format === "sse";
  res.writeHead(200, { "content-type": isEvents ? "text/event-stream" : TYPES[response_format] });
  for (const [at, one] of pieces.entries()) {
    const piece = at === pieces.length - 1 ? one.repeat(times) : one;
    const audio = Buffer.from(piece).toString("base64");
    if (isEvents) event(res, { type: "speech.audio.delta", audio });
    else res.write(piece);
  }
  if (hang) return;
  if (cut) return res.socket.end();
  const usage = { input_tokens: 3, output_tokens: 5, total_tokens: 8 };
  if (isEvents) event(res, { type: "speech.audio.done", usage });
  res.end(isEvents ? "" : tail);
}

/** Answers a transcription with the request itself: its fields, and the file's name, size and hash. */
async function hear(req, res, task) {
  const request = new Response(await req.toArray().then(Buffer.concat), { headers: req.headers });
  const form = await request.formData();
  const file = form.get("file");
  if (form.get("model") !== SERVED) return refuse(res, "There is no such model", "model");
  if (!(file instanceof File)) return refuse(res, "There is no file", "file");
  const bytes = Buffer.from(await file.arrayBuffer());
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const fields = [...form].filter(([name]) => name !== "file");
  const text = JSON.stringify({ task, fields, file: [file.name, file.type, bytes.length, sha256] });
  if (form.get("stream") === "true") return streamed(res, text);
  switch (form.get("response_format")) {
    case "text":
      return res.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`);
    case "srt":
      return res
        .writeHead(200, { "content-type": "text/plain; charset=utf-8" })
        .end(`1\n00:00:00,000 --> 00:00:01,000\n${text}\n\n`);
    case "vtt":
      return reply(res, 200, `WEBVTT\n\n00:00.000 --> 00:01.000\n${text}\n`);
    case "verbose_json":
      return reply(res, 200, { task, language: "english", duration: 1, text });
    default:
      return reply(res, 200, { text, usage: { type: "duration", seconds: 1 } });
  }
}

function streamed(res, text) {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (const delta of text.match(/.{1,40}/gs)) event(res, { type: "transcript.text.delta", delta });
  event(res, { type: "transcript.text.done", text });
  res.end();
}

const CALLS = {
  "/v1/audio/speech": speak,
  "/v1/audio/transcriptions": (req, res) => hear(req, res, "transcribe"),
  "/v1/audio/translations": (req, res) => hear(req, res, "translate"),
};

const models = { object: "list", data: [{ id: SERVED, object: "model", created: 0 }] };

const server = http.createServer((req, res) => {
  const path = req.url.split("?")[0];
  const call = req.method === "POST" && CALLS[path];
  if (call) {
    running++;
    res.on("close", () => running--);
    call(req, res).catch((error) => reply(res, 500, { error: { message: String(error) } }));
  } else if (path === "/health") {
    res.writeHead(200).end();
  } else if (path === "/v1/models") {
    reply(res, 200, models);
  } else if (path === "/metrics") {
    res.end(`llamacpp:requests_processing ${running}\n`);
  } else {
    reply(res, 404, { detail: "Not Found" });
  }
});
server.listen(Number(process.env.PORT), process.env.HOST);
process.on("SIGTERM", () => process.exit(0));
