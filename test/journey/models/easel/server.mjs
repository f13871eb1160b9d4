// A stand-in for a server of images. Its picture has one pixel, and `revised_prompt` is the request itself.
// The prompt `fail` is refused.

import http from "node:http";

const NAME = "easel-7b";
const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
const USAGE = {
  input_tokens: 7,
  output_tokens: 11,
  total_tokens: 18,
  input_tokens_details: { text_tokens: 3, image_tokens: 4 },
};

http
  .createServer(async (request, response) => {
    const json = (status, body) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const path = request.url ?? "";
    if (path === "/health") return json(200, { status: "ok" });
    if (path === "/v1/models") return json(200, { object: "list", data: [{ id: NAME }] });
    const [, call] = /^\/v1\/images\/(generations|edits)$/.exec(path) ?? [];
    if (!call) return json(404, { error: { message: "Not found" } });
    const asked = await bodyOf(request);
    if (asked.prompt === "fail")
      return json(400, { error: { message: "No such picture", param: "prompt", code: "policy" } });
    const event = call === "edits" ? "image_edit" : "image_generation";
    if (String(asked.stream) === "true") return stream(response, event, asked);
    const one = { b64_json: DOT, revised_prompt: JSON.stringify(asked) };
    const data = Array.from({ length: Number(asked.n ?? 1) }, () => one);
    return json(200, { created: 1, data, output_format: "png", quality: "low", usage: USAGE });
  })
  .listen(Number(process.env.PORT), process.env.HOST);

function stream(response, event, { partial_images: partial = 0 }) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const traits = { size: "1024x1024", quality: "low", background: "opaque", output_format: "png" };
  const put = (type, more) => {
    const data = { type: `${event}.${type}`, b64_json: DOT, created_at: 1, ...traits, ...more };
    response.write(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  for (let n = 0; n < Number(partial); n++) put("partial_image", { partial_image_index: n });
  put("completed", { usage: USAGE });
  response.end();
}

/** Parses the body of a request. A file becomes its name, type and size. */
async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("application/json")) return JSON.parse(Buffer.concat(chunks).toString());
  const form = await new Response(Buffer.concat(chunks), {
    headers: { "content-type": type },
  }).formData();
  const told = (value) =>
    typeof value === "string" ? value : { name: value.name, type: value.type, size: value.size };
  return Object.fromEntries(
    [...new Set(form.keys())].map((name) => {
      const values = form.getAll(name).map(told);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}
