/** The reading of containers: all at once, within a limit of time and of size. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { ContainerScraper } from "../../../runner/src/metrics/scrape.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

let count = 0;

async function serving(listener: RequestListener, version = "1") {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  count += 1;
  const address = new URL(`http://127.0.0.1:${port}`);
  return { name: `c${count}`, model: "ada/story", version, address };
}

const answers: RequestListener = (_request, response) => response.end("a 1\n");

test("containers that hang, drip, send too much, or have no metrics hold up no others", async () => {
  const containers = await Promise.all([
    serving(answers),
    serving(() => {}),
    serving((_request, response) => {
      const timer = setInterval(() => response.write("a 1\n"), 50);
      response.on("close", () => clearInterval(timer));
    }),
    serving((_request, response) => response.end(Buffer.alloc(5 * 1024 ** 2, "a 1\n"))),
    serving((_request, response) => response.writeHead(404).end("b 1\n")),
    serving((_request, response) =>
      response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
    ),
    serving((request) => request.socket.end("nonsense")),
    serving(({ url }, response) => {
      if (url === "/metrics/") response.end("c 1\n");
      else response.writeHead(307, { location: "/metrics/" }).end();
    }),
  ]);
  const began = performance.now();
  const passed = await new ContainerScraper("box").scrape(containers);
  expect(performance.now() - began).toBeLessThan(4_000);
  expect(passed.map(({ text }) => text.points.map(({ name }) => name))).toEqual([["a"], ["c"]]);
});

test("containers share 40,000 series, and a line with very many labels is none of them", async () => {
  const labels = (count: number) => Array.from({ length: count }, (_, n) => `l${n}="x"`).join();
  const lines = Array.from({ length: 5_000 }, (_, n) => `a{n="${n}"} 1\n`);
  const text = `b{${labels(32)}} 1\nc{${labels(33)}} 1\n${lines.join("")}`;
  const many = await Promise.all(
    Array.from({ length: 10 }, () => serving((_request, response) => response.end(text))),
  );
  const passed = await new ContainerScraper("box").scrape(many);
  expect(passed.map(({ text: { points } }) => points.length)).toEqual(many.map(() => 4_000));
  expect(new Set(passed[0]?.text.points.map(({ name }) => name))).toEqual(new Set(["b", "a"]));
  expect(passed[0]?.text.dropped).toBe(1_002);
});

test("containers of a version have numbers, which they keep, and which are free again", async () => {
  const [one, two, other, three] = await Promise.all([
    serving(answers),
    serving(answers),
    serving(answers, "2"),
    serving(answers),
  ]);
  const scraper = new ContainerScraper("box");
  const numbers = async (...containers: (typeof one)[]) =>
    (await scraper.scrape(containers)).map(({ origin }) => origin.container);
  expect(await numbers(one, two, other)).toEqual(["0", "1", "0"]);
  expect(await numbers(two, three)).toEqual(["1", "0"]);
  expect(await numbers(three, two)).toEqual(["0", "1"]);
});
