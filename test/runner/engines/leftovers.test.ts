/** Containers of an earlier process that a sweep spares, with a Docker that only lists and removes. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import Dockerode from "dockerode";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Leftovers } from "../../../runner/src/engines/docker/docker-container.ts";
import { silentLog } from "../support/samples.ts";

const IMAGE = { repository: "models/a", digest: `sha256:${"a".repeat(64)}` };
const LEFT = [{ handle: { id: "a1", address: "http://127.0.0.1:4001" }, image: IMAGE }];
const LISTED = {
  Id: "a1",
  State: "running",
  Labels: { "auspex.runner": "box", "auspex.image": `${IMAGE.repository}@${IMAGE.digest}` },
  Ports: [{ IP: "127.0.0.1", PrivatePort: 5_000, PublicPort: 4_001, Type: "tcp" }],
};

let docker: Server;
let listed: object[];
let removed: string[];
let leftovers: Leftovers;

beforeEach(async () => {
  removed = [];
  docker = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://docker");
    if (request.method === "DELETE") {
      removed.push(pathname.split("/").at(-1) ?? "");
      return void response.writeHead(204).end();
    }
    expect(searchParams.get("filters")).toContain("auspex.runner=box");
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(listed));
  }).listen(0, "127.0.0.1");
  await once(docker, "listening");
  const address = docker.address();
  const port = typeof address === "object" ? address?.port : undefined;
  leftovers = new Leftovers(new Dockerode({ host: "127.0.0.1", port }), "box", silentLog);
});
afterEach(() => void docker.close());

test("a sweep spares a left container that still runs, and removes all others of the runner", async () => {
  listed = [LISTED, { ...LISTED, Id: "b2" }];
  expect(await leftovers.sweep(LEFT)).toEqual(["a1"]);
  expect(removed).toEqual(["b2"]);
});

test.each([
  ["has exited", { State: "exited" }],
  ["runs another image", { Labels: { ...LISTED.Labels, "auspex.image": "models/b@sha256:0" } }],
  ["answers at another port", { Ports: [{ ...LISTED.Ports[0], PublicPort: 4_002 }] }],
  ["publishes no port", { Ports: [] }],
])("a sweep removes a left container that %s", async (_, change) => {
  listed = [{ ...LISTED, ...change }];
  expect(await leftovers.sweep(LEFT)).toEqual([]);
  expect(removed).toEqual(["a1"]);
});

test("an image cannot set the labels of its containers", () => {
  expect(leftovers.labels(IMAGE)).toEqual(LISTED.Labels);
});
