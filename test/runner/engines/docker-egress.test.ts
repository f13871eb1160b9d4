// Egress that a version declares, enforced by the firewall against the container.
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DockerOptions } from "../../../runner/src/engines/options.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { Egress } from "../../../src/protocol/egress.ts";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp } from "../support/containers.ts";
import { DockerBox } from "../support/docker-box.ts";

/** Public addresses and a resolver. */
const PUBLIC: [string, number][] = [
  ["1.1.1.1", 443],
  ["1.1.1.1", 53],
];
const REFUSED = { "1.1.1.1,443": "ECONNREFUSED", "1.1.1.1,53": "ECONNREFUSED" };

describe.runIf(dockerIsUp)("egress", () => {
  let box: DockerBox;
  let executor: Executor;
  let server: Server;
  let port: number;

  /** Options that resolve every name to this machine, which stands for the public internet. */
  const tunnels = {
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
    permits: () => true,
  };

  /** Opens one executor for all tests of a group. */
  function withEngine(engine: Partial<DockerOptions> = {}): void {
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

  const run = (egress: Egress, input = {}) =>
    box.run(executor, "traveller", { targets: PUBLIC, ...input }, { egress });

  async function look(egress: Egress, input = {}) {
    const { reporter, finish } = run(egress, input);
    expect(await finish).toMatchObject({ status: "succeeded" });
    return reporter.of("output")[0];
  }

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

  describe("by what a version declares", () => {
    withEngine();

    it("egress differs by container: each has a network of its own, which is made for the first", async () => {
      await look("public", { targets: [] });
      expect(await box.networks()).toHaveLength(1);
      await look("none", { targets: [] });
      const format = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}";
      const networks = await docker("inspect", "--format", format, ...(await box.containers()));
      expect(networks.split("\n").sort()).toEqual((await box.networks()).sort());
    });

    it("egress none reaches nothing and resolves no names, and the run's reports still come", async () => {
      expect(await look("none", { names: ["example.com"] })).toMatchObject({
        reached: REFUSED,
        named: { "example.com": "unknown" },
        proxy: false,
      });
    });

    it("egress with a list reaches only its hosts, through the runner", async () => {
      const [listed, other] = [`hf.example:${port}`, `evil.example:${port}`];
      const input = { authorities: [listed, other], names: ["hf.example"] };
      expect(await look([listed], input)).toEqual({
        reached: REFUSED,
        named: { "hf.example": "unknown" },
        travelled: { [listed]: "welcome", [other]: 403 },
        proxy: true,
      });
    });
  });

  describe("where the operator forbids it", () => {
    withEngine({ sandbox: { egress: false } });

    it("egress is none for all containers where the operator says so", async () => {
      const listed = `hf.example:${port}`;
      const travelled = { [listed]: 403 };
      expect(await look([listed], { authorities: [listed] })).toMatchObject({ travelled });
    });
  });

  describe("without a firewall", () => {
    withEngine({ firewall: "off" });

    it("egress none is refused where there is no firewall to enforce it", async () => {
      const { error } = await run("none").finish;
      expect(error?.source).toBe("internal");
      expect(error?.message).toContain("without --firewall off");
      expect(await look("public", { targets: [] })).toMatchObject({ proxy: false });
    });
  });
});
