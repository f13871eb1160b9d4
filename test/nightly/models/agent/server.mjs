// A chat server that is as strict as vLLM, and plays the model of an agent: it reads a file with the agent's
// shell tool, and answers with the text of the file.

import http from "node:http";
import { objectionTo } from "./strict.mjs";

const SHELL = /^(?:bash|shell|shell_command|exec_command|run_shell_command)$/i;
const COMMAND = "cat note.txt";

const server = http.createServer(async (req, res) => {
  const json = (status, body) =>
    res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (req.url === "/health") return json(200, {});
  if (req.url === "/v1/models") return json(200, { object: "list", data: [{ id: "agent" }] });
  if (req.url !== "/v1/chat/completions") return json(404, { detail: "Not Found" });
  const chat = JSON.parse(Buffer.concat(await req.toArray()).toString());
  const objection = objectionTo(chat);
  if (objection) {
    console.log(`refused: ${objection}`);
    return json(400, { object: "error", message: objection, type: "BadRequestError", code: 400 });
  }
  res.writeHead(200, { "content-type": "text/event-stream" });
  const delta = answerTo(chat);
  const finish_reason = delta.tool_calls ? "tool_calls" : "stop";
  const chunk = (choices, more) => {
    const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "agent" };
    res.write(`data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`);
  };
  chunk([{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }]);
  chunk([{ index: 0, delta: {}, finish_reason }]);
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  chunk([], { usage });
  res.end("data: [DONE]\n\n");
});

function answerTo({ messages, tools = [] }) {
  const result = messages.findLast(({ role }) => role === "tool");
  if (result) return { content: `The file says: ${result.content}` };
  const shell = tools.find(({ function: { name } }) => SHELL.test(name));
  if (!shell) return { content: "A note" };
  const { name, parameters } = shell.function;
  const call = { name, arguments: JSON.stringify(argumentsFor(parameters)) };
  return {
    content: "",
    tool_calls: [{ index: 0, id: "call_1", type: "function", function: call }],
  };
}

/** Returns arguments with the command, and a value for each property that the tool's schema requires. */
function argumentsFor({ properties, required = [] }) {
  const values = { string: "Reads the note", boolean: false, number: 10_000, integer: 10_000 };
  const name = "cmd" in properties ? "cmd" : "command";
  const isList = properties[name].type === "array";
  return {
    ...Object.fromEntries(required.map((one) => [one, values[properties[one]?.type] ?? null])),
    [name]: isList ? ["bash", "-c", COMMAND] : COMMAND,
  };
}

server.listen(Number(process.env.PORT), process.env.HOST);
process.on("SIGTERM", () => process.exit(0));
