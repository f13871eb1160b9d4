/** The sandbox of a container: its limits, its neighbours, and its secrets. */
import { once } from "node:events";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import { docker } from "../../docker/registry.ts";
import { dockerIsUp } from "../support/containers.ts";
import {
  expectTooMuch,
  log,
  look,
  MIB,
  probe,
  SECRET,
  useImages,
  withEngine,
} from "../support/sandbox-bed.ts";

const VARIABLES = { HF_TOKEN: SECRET, PPID: "7", HOST: "1.2.3.4", EMPTY: "" };

useImages(async (into) => {
  await into.push("insider", "insider.mjs");
});

describe.runIf(dockerIsUp)("a container", () => {
  // One engine has all limits, and two warm containers are enough: one with variables, one without.
  withEngine({
    watch_interval_ms: 200,
    sandbox: { pids: 64, memory_bytes: 256 * MIB, disk_bytes: 20 * MIB },
  });

  it("a container has variables that Docker does not show", async () => {
    const { seen, inspected } = await look("insider", VARIABLES);
    expect(seen.variables).toEqual({ ...VARIABLES, HOST: "0.0.0.0" });
    expect(seen.pid).toBe(1);
    expect(inspected).not.toContain("HF_TOKEN");
    expect(inspected).not.toContain("sealed");
    expect(log.lines.join()).not.toContain("sealed");
  });

  it("the engine keeps a container within its limits", async () => {
    const seen = await probe();
    // CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, SETGID 6, SETUID 7, NET_BIND_SERVICE 10.
    const allowed = [0, 1, 3, 6, 7, 10].reduce((mask, bit) => mask + 2 ** bit, 0);
    expect(seen).toMatchObject({ capabilities: allowed, noNewPrivileges: "1" });
    expect(seen).toMatchObject({ pids: "64", memory: String(256 * MIB) });
  });

  it("the engine keeps a container from this machine, its neighbours and the metadata service", async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, "0.0.0.0");
    await once(server, "listening");
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    // The run has ended and its idle container is the other one's neighbour.
    const { address: neighbour } = await look("insider", VARIABLES);
    const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const mine = own.filter(({ family, internal }) => family === "IPv4" && !internal);
    const targets: [string, number][] = [
      ["host", port],
      ...mine.map(({ address: host }): [string, number] => [host, port]),
      ["169.254.169.254", 80],
      ["10.0.0.1", 80],
      // Docker gives its networks lower addresses when others are taken.
      ["192.168.254.1", 80],
      [neighbour, 5_000],
    ];
    const { reached } = await probe(targets);
    for (const [host] of targets) expect([host, reached[host]]).toEqual([host, "ECONNREFUSED"]);

    const script = `require("net").connect(${port}, process.argv[1])
      .on("connect", () => process.exit(0)).on("error", () => process.exit(1))`;
    // `port` is open to containers outside the runner's network: otherwise the test would prove nothing.
    await docker("run", "--rm", "node:24-slim", "node", "-e", script, mine[0]?.address ?? "");
    server.close();
  });

  it("a container ends when it writes too much", () => expectTooMuch("/src/scratch.bin"));
});
