// Creation of containers with as much of the sandbox as this Docker allows, which the first container finds
// out.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import Dockerode from "dockerode";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { ContainerCreator } from "../../../runner/src/engines/docker/container-creator.ts";
import { DEFAULT_SANDBOX } from "../../../runner/src/engines/options.ts";
import { recordedLog } from "../support/docker-box.ts";

/** The messages of Docker 20.10 and 28. */
const NO_QUOTA = "--storage-opt is supported only for overlay over xfs with 'pquota' mount option";

const asked = z.object({ HostConfig: z.object({ StorageOpt: z.unknown().optional() }) });

let server: Server;
afterEach(() => server.close());

/**
 * Starts a Docker whose storage driver has no quota; it answers so to the first `together` creations at a
 * time.
 */
async function withoutQuota(together: number): Promise<Dockerode> {
  let waiting: (() => void)[] = [];
  let made = 0;
  server = createServer(async (request, response) => {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (request.method === "GET") return answer(200, { Id: "sha256:1", Config: {} });
    const { HostConfig } = asked.parse(await json(request));
    if (HostConfig.StorageOpt === undefined) return answer(201, { Id: `c${++made}` });
    waiting.push(() => answer(500, { message: NO_QUOTA }));
    if (waiting.length < together) return;
    for (const refuse of waiting) refuse();
    waiting = [];
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return new Dockerode({ host: "127.0.0.1", port, protocol: "http" });
}

it("all containers start that find out together that the storage driver has no quota", async () => {
  const docker = await withoutQuota(3);
  const log = recordedLog();
  const creation = new ContainerCreator(docker, log);
  const plan = {
    image: await docker.getImage("model").inspect(),
    reference: "model",
    command: undefined,
    variables: {},
    environment: {},
    labels: {},
    user: undefined,
    host: {
      sandbox: DEFAULT_SANDBOX,
      share: { memory_bytes: 1e9, cpus: 1, shm_bytes: 1e8 },
      network: "n",
      dns: [],
      hostAddress: "127.0.0.1",
      port: 5_000,
      deviceRequests: [],
      mounts: [],
    },
    disk_bytes: 1e9,
  };
  const made = await Promise.all([1, 2, 3].map(() => creation.create(plan)));
  expect(made.map(({ container }) => container.id).sort()).toEqual(["c1", "c2", "c3"]);
  expect(log.lines.filter((line) => line.includes("has no quota"))).toHaveLength(1);
  // Later containers are created without a quota.
  expect((await creation.create(plan)).container.id).toBe("c4");
});
