// A server that answers `max_tokens` tokens, `per_second` of them (0: without a pause), the first one at
// once. Its system_fingerprint is its address, so that the bench can ask the same container directly.

import http from "node:http";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";

const { HOST, PORT } = process.env;
const MODEL = "pace";
/** Tokens without a pause are written 16 at a time, so that other streams have a turn. */
const BURST = 16;

const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({
    id: "pace",
    object: "chat.completion.chunk",
    created: 1,
    model: MODEL,
    system_fingerprint: `http://${HOST}:${PORT}`,
    choices: [{ index: 0, logprobs: null, delta, finish_reason }],
  })}\n\n`;
const BEGIN = chunk({ role: "assistant", content: "" });
const TOKEN = chunk({ content: " token" });
const END = `${chunk({}, "stop")}data: [DONE]\n\n`;

async function write(res, { max_tokens, per_second }) {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(BEGIN);
  const began = performance.now();
  for (let made = 0; made < max_tokens && !res.destroyed; made++) {
    // The wait follows an absolute timetable, so that late timers do not add up to a slower stream.
    const wait = per_second > 0 ? began + (made * 1000) / per_second - performance.now() : 0;
    if (wait > 0) await sleep(wait);
    else if (per_second === 0 && made % BURST === 0) await breathe();
    res.write(TOKEN);
  }
  res.end(END);
}

const server = http.createServer(async (req, res) => {
  if (req.url === "/v1/chat/completions")
    return write(res, JSON.parse(Buffer.concat(await req.toArray()).toString()));
  if (req.url === "/v1/models") return res.end(JSON.stringify({ data: [{ id: MODEL }] }));
  return res.writeHead(req.url === "/health" ? 200 : 404).end();
});
server.listen(Number(PORT), HOST);
process.on("SIGTERM", () => process.exit(0));
