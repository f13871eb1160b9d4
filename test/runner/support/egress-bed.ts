/** Containers with an egress, and a server that stands for the public internet. */
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect } from "vitest";
import type { DockerOptions } from "../../../runner/src/engines/options.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { Egress } from "../../../src/protocol/egress.ts";
import { DockerBox } from "./docker-box.ts";

/** Public addresses and a resolver. */
const PUBLIC: [string, number][] = [
  ["1.1.1.1", 443],
  ["1.1.1.1", 53],
];
export const REFUSED = { "1.1.1.1,443": "ECONNREFUSED", "1.1.1.1,53": "ECONNREFUSED" };

export let box: DockerBox;
let executor: Executor;
let server: Server;
export let port: number;

/** Options that resolve every name to this machine, which stands for the public internet. */
const tunnels = {
  resolve: async () => [{ address: "127.0.0.1", family: 4 }],
  permits: () => true,
};

/** Opens one executor for all tests of a group. */
export function withEngine(engine: Partial<DockerOptions> = {}): void {
  beforeAll(async () => {
    executor = box.executor(engine, undefined, 4, tunnels);
    await executor.open();
  });
  afterAll(async () => {
    await executor.close();
    expect(await box.containers()).toEqual([]);
    expect(await box.networks()).toEqual([]);
  });
}

export const run = (egress: Egress, input = {}) =>
  box.run(executor, "traveller", { targets: PUBLIC, ...input }, { egress });

export async function look(egress: Egress, input = {}) {
  const { reporter, finish } = run(egress, input);
  const ended = await finish;
  expect(ended, JSON.stringify(ended)).toMatchObject({ status: "succeeded" });
  return reporter.of("output")[0];
}

/** Starts the box and the server before all tests of a file. */
export function useTravellers(): void {
  beforeAll(async () => {
    box = await DockerBox.start();
    await box.push("traveller", "traveller.mjs");
    server = createServer((socket) => socket.end("welcome")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    port = address !== null && typeof address === "object" ? address.port : 0;
  }, 120_000);
  afterAll(async () => {
    server.close();
    await box.close();
  });
}
