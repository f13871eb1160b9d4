// Answers `max_tokens` tokens, `per_second` of them (0: without a pause), the first one at once.
// Its system_fingerprint is its address, so that the bench finds the very container and asks it itself.

import http from "node:http";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";

const { HOST, PORT } = process.env;
const MODEL = "pace";
/** Tokens without a pause are handed over so many at a time: others are to have a turn. */
const BURST = 16;

const chunk = (choices) =>
  `data: ${JSON.stringify({
    id: "chatcmpl-pace",
    object: "chat.completion.chunk",
    created: 1,
    model: MODEL,
    system_fingerprint: `http://${HOST}:${PORT}`,
    choices,
  })}\n\n`;
const piece = (delta, finish_reason = null) =>
  chunk([{ index: 0, delta, logprobs: null, finish_reason }]);

const ROLE = piece({ role: "assistant", content: "" });
const TOKEN = piece({ content: " token" });
const END = `${piece({}, "stop")}data: [DONE]\n\n`;

async function write(res, { max_tokens, per_second }) {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(ROLE);
  const began = performance.now();
  for (let made = 0; made < max_tokens && !res.destroyed; made++) {
    // Of an absolute timetable, so that late timers do not add up to a slower stream.
    const wait = per_second > 0 ? began + (made * 1000) / per_second - performance.now() : 0;
    if (wait > 0) await sleep(wait);
    else if (per_second === 0 && made % BURST === 0) await breathe();
    res.write(TOKEN);
  }
  res.end(END);
}

const server = http.createServer(async (req, res) => {
  if (req.url === "/v1/chat/completions") {
    return write(res, JSON.parse(Buffer.concat(await req.toArray()).toString()));
  }
  if (req.url === "/v1/models") return res.end(JSON.stringify({ data: [{ id: MODEL }] }));
  return res.writeHead(req.url === "/health" ? 200 : 404).end();
});
server.listen(Number(PORT), HOST);
process.on("SIGTERM", () => process.exit(0));
