// The example that takes and returns a file: where its files come from and go to.

import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { duotone, pixelsOf } from "../../journey/support/duotone.ts";
import {
  type Example,
  examplesFolder,
  type State,
  startExample,
  until,
} from "../support/example.ts";

const folder = join(examplesFolder, "duotone");
const colours = { dark: "#000000", light: "#ffffff", width: 80 };

interface Put {
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

let sample: Buffer;
let image: string;

beforeAll(async () => {
  sample = await readFile(join(folder, "sample.jpg"));
  image = `data:image/jpeg;base64,${sample.toString("base64")}`;
});

const predict = (example: Example, input: object) =>
  example.send<State & { output: string }>("POST", "/predictions", { input });

describe("where nobody has said where files go", () => {
  let example: Example;
  beforeAll(async () => {
    example = await startExample(folder);
  });
  afterAll(() => example.stop());

  it("the picture is in the output itself without an upload address", async () => {
    const { body } = await predict(example, { image, ...colours });
    expect(body).toMatchObject({ status: "succeeded", logs: "80 x 53 pixels\n" });
    const [head, data = ""] = body.output.split(",");
    expect(head).toBe("data:image/png;base64");
    expect(await pixelsOf(Buffer.from(data, "base64"))).toEqual(await duotone(sample, colours));
  });

  it("an invalid data URI has its own error, and not only that fetch failed", async () => {
    const { body } = await predict(example, { image: "data:image/png;base64,@@@" });
    const error = "Cannot read the image: failed to fetch the data URL";
    expect(body).toMatchObject({ status: "failed", error: expect.stringContaining(error) });
  });

  it("a file that is no picture fails the run, and the next run succeeds", async () => {
    const { body } = await predict(example, { image: "data:text/plain,hello" });
    expect(body).toMatchObject({ status: "failed", error: expect.stringMatching(/image/) });
    expect((await predict(example, { image, width: 16 })).body.status).toBe("succeeded");
  });

  it("an invalid colour is refused", async () => {
    expect((await predict(example, { image, dark: "red" })).status).toBe(422);
  });
});

describe("where files go to an address", () => {
  const puts: Put[] = [];
  let status = 201;
  const server = createServer(async (request, response) => {
    puts.push({ url: request.url ?? "", headers: request.headers, body: await buffer(request) });
    const location = `http://files.test/${puts.length}/duotone.png?signature=1`;
    response.writeHead(status, { location }).end();
  });
  let example: Example;

  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    example = await startExample(folder, { AUSPEX_UPLOAD_URL: `http://127.0.0.1:${port}/up` });
  });
  afterAll(async () => {
    await example.stop();
    server.close();
  });

  it("the picture is sent to the upload address, and the output has its address", async () => {
    const { body } = await predict(example, { image, ...colours });
    expect(body.output).toBe("http://files.test/1/duotone.png");
    const [put] = puts;
    expect(put).toMatchObject({
      url: "/up/duotone.png",
      headers: { "content-type": "image/png", "x-prediction-id": body.id },
    });
    expect(await pixelsOf(put?.body ?? Buffer.alloc(0))).toEqual(await duotone(sample, colours));
  });

  it("an upload that is refused fails the run", async () => {
    status = 507;
    const { body } = await predict(example, { image, ...colours });
    expect(body).toMatchObject({
      status: "failed",
      error: "Uploading duotone.png failed with 507",
    });
  });
});

describe("several files in one output", () => {
  const answers = new Map<string, (status: number) => void>();
  const order: string[] = [];
  const server = createServer(async (request, response) => {
    const name = (request.url ?? "").replace("/up/", "");
    order.push(`${name} ${await buffer(request)}`);
    const location = `http://files.test/${order.length}/${name}`;
    const answer = (status: number) => response.writeHead(status, { location }).end();
    if (name.startsWith("held")) answers.set(name, answer);
    else answer(201);
  });
  let copy: string;
  let example: Example;

  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    copy = await mkdtemp(join(tmpdir(), "auspex-example-"));
    await cp(join(examplesFolder, "hello"), copy, { recursive: true });
    await writeFile(
      join(copy, "model.mjs"),
      `import manifest from "./auspex.json" with { type: "json" };
       import { serve } from "./cog.mjs";
       const file = (name, text) => new File([text], name, { type: "text/plain" });
       async function* stream() { yield "first"; yield file("a b?.txt", "1"); yield ["last", file("a b?.txt", "2")]; }
       const twice = file("twice.txt", "3");
       const nested = () => ({ list: [file("x.txt", "1"), "between", file("y.txt", "2")], twice, again: twice });
       serve(manifest, {
         predict({ name }) {
           return { stream, nested, held: () => file("held.txt", "4") }[name]();
         },
       });`,
    );
    example = await startExample(copy, { AUSPEX_UPLOAD_URL: `http://127.0.0.1:${port}/up` });
  });
  afterAll(async () => {
    await example.stop();
    server.closeAllConnections();
    server.close();
    await rm(copy, { recursive: true });
  });

  it("the files of one output keep their places, each sent once", async () => {
    order.length = 0;
    const { body } = await predict(example, { name: "nested" });
    expect(order).toEqual(["x.txt 1", "y.txt 2", "twice.txt 3"]);
    expect(body.output).toEqual({
      list: ["http://files.test/1/x.txt", "between", "http://files.test/2/y.txt"],
      twice: "http://files.test/3/twice.txt",
      again: "http://files.test/3/twice.txt",
    });
  });

  it("the files of one output come in the order in which they are yielded, whatever their names", async () => {
    order.length = 0;
    const { body } = await predict(example, { name: "stream" });
    expect(order).toEqual(["a%20b%3F.txt 1", "a%20b%3F.txt 2"]);
    expect(body.output).toEqual([
      "first",
      "http://files.test/1/a%20b%3F.txt",
      ["last", "http://files.test/2/a%20b%3F.txt"],
    ]);
  });

  it("a cancel does not wait for a file that is on its way", async () => {
    const id = "held-run";
    const run = example.send<State>("PUT", `/predictions/${id}`, { id, input: { name: "held" } });
    await until(() => answers.has("held.txt"));
    await example.send("POST", `/predictions/${id}/cancel`);
    expect((await run).body.status).toBe("canceled");
  });
});
