// A server of images and speech. Answers to forms have the form; speech repeats the input until its caller leaves.

import http from "node:http";

const NAME = "studio-1";
const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

let running = 0;

/** Returns the fields of a form, with the name, type and size of each file. */
async function fieldsOf(req) {
  const bytes = Buffer.concat(await req.toArray());
  const form = await new Response(bytes, { headers: req.headers }).formData();
  const plain = (value) =>
    typeof value === "string" ? value : [value.name, value.type, value.size];
  return JSON.stringify([...form].map(([name, value]) => [name, plain(value)]));
}

const CALLS = {
  "/v1/images/edits": async (req) => ({
    created: 1,
    data: [{ b64_json: DOT, revised_prompt: await fieldsOf(req) }],
    output_format: "png",
  }),
  "/v1/audio/transcriptions": async (req) => ({ text: await fieldsOf(req) }),
};

async function speak(req, res) {
  const { input } = JSON.parse(Buffer.concat(await req.toArray()).toString());
  res.writeHead(200, { "content-type": "audio/mpeg" }).write(input);
}

http
  .createServer(async (req, res) => {
    const path = req.url.split("?")[0];
    const json = (body) =>
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (path === "/metrics") return res.end(`llamacpp:requests_processing ${running}\n`);
    if (req.method === "GET") return json({ object: "list", data: [{ id: NAME }] });
    running++;
    res.on("close", () => running--);
    if (path === "/v1/audio/speech") return speak(req, res);
    json(await CALLS[path](req));
  })
  .listen(Number(process.env.PORT), process.env.HOST);
process.on("SIGTERM", () => process.exit(0));
