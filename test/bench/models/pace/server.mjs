// A server that answers `max_tokens` tokens, `per_second` of them (0: without a pause), the first one at
// once. Its system_fingerprint is its address, so that the bench can ask the same container directly.

import http from "node:http";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";

const { HOST, PORT } = process.env;
const MODEL = "pace";
/** Tokens without a pause are written 16 at a time, so that other streams have a turn. */
const BURST = 16;

const chunk = (object, choice) =>
  `data: ${JSON.stringify({
    id: "pace",
    object,
    created: 1,
    model: MODEL,
    system_fingerprint: `http://${HOST}:${PORT}`,
    choices: [{ index: 0, logprobs: null, finish_reason: null, ...choice }],
  })}\n\n`;
const piece = (choice) => chunk("chat.completion.chunk", choice);
const text = (choice) => chunk("text_completion", choice);

/** The beginning, a token and the end of each endpoint's stream. */
const STREAMS = {
  "/v1/chat/completions": {
    begin: piece({ delta: { role: "assistant", content: "" } }),
    token: piece({ delta: { content: " token" } }),
    end: `${piece({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`,
  },
  "/v1/completions": {
    begin: text({ text: "" }),
    token: text({ text: " token" }),
    end: `${text({ text: "", finish_reason: "stop" })}data: [DONE]\n\n`,
  },
};

async function write(res, { begin, token, end }, { max_tokens, per_second }) {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(begin);
  const began = performance.now();
  for (let made = 0; made < max_tokens && !res.destroyed; made++) {
    // The wait follows an absolute timetable, so that late timers do not add up to a slower stream.
    const wait = per_second > 0 ? began + (made * 1000) / per_second - performance.now() : 0;
    if (wait > 0) await sleep(wait);
    else if (per_second === 0 && made % BURST === 0) await breathe();
    res.write(token);
  }
  res.end(end);
}

const server = http.createServer(async (req, res) => {
  const stream = STREAMS[req.url];
  if (stream) return write(res, stream, JSON.parse(Buffer.concat(await req.toArray()).toString()));
  if (req.url === "/v1/models") return res.end(JSON.stringify({ data: [{ id: MODEL }] }));
  return res.writeHead(req.url === "/health" ? 200 : 404).end();
});
server.listen(Number(PORT), HOST);
process.on("SIGTERM", () => process.exit(0));
