/**
 * Real clients push a layer that is larger than the zone takes: refused without the relay, there with
 * it. Each where it is installed.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RegistryClient } from "../../../src/cli/registry/registry-client.ts";
import { type Relay, startRelay } from "../../../src/cli/relay/relay.ts";
import { manifest } from "../../../src/protocol/oci.ts";
import { docker, type Registry, startRegistry } from "../../docker/registry.ts";
import { dockerIsUp } from "../../runner/support/containers.ts";
import { Edge } from "../support/edge.ts";

const MIB = 1024 * 1024;
const LIMIT = 3 * MIB;
const ANNOUNCED = { "oci-chunk-max-length": String(2 * MIB + 65_536) };
const has = (client: string) => existsSync(`/usr/bin/${client}`);

if (!dockerIsUp) console.log("Docker does not answer: real clients of the relay are left out.");

describe.runIf(dockerIsUp)("through the relay", () => {
  let registry: Registry;
  let edge: Edge;
  let relay: Relay;
  let folder: string;

  beforeAll(async () => {
    registry = await startRegistry();
    edge = await Edge.open(`http://${registry.host}`, LIMIT, ANNOUNCED);
    folder = mkdtempSync(join(tmpdir(), "auspex-relay-"));
    const context = join(folder, "context");
    mkdirSync(context);
    writeFileSync(join(context, "weights"), randomBytes(5 * MIB));
    writeFileSync(join(context, "Dockerfile"), "FROM scratch\nCOPY weights /\n");
    await docker("build", "--quiet", "--tag", "auspex-test/relayed", context);
    const scratch = join(folder, "scratch");
    mkdirSync(scratch);
    const signal = new AbortController().signal;
    const access = { url: edge.url, token: "aus_x" };
    const client = new RegistryClient({ access, signal, onRetry: () => {} });
    relay = await startRelay({ client, port: 0, scratch });
  });

  afterAll(async () => {
    relay.close();
    edge.close();
    await docker("image", "rm", "--force", "auspex-test/relayed");
    await registry.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The digest of what lies behind the edge under this name. */
  async function digestAt(name: string): Promise<string> {
    const manifests = ["oci.image.manifest.v1", "docker.distribution.manifest.v2"];
    const response = await fetch(`http://${registry.host}/v2/${name}/manifests/latest`, {
      headers: { accept: manifests.map((one) => `application/vnd.${one}+json`).join(", ") },
    });
    expect(response.status).toBe(200);
    const { layers } = manifest.parse(await response.json());
    expect(Math.max(...layers.map(({ size }) => size))).toBeGreaterThan(LIMIT);
    return response.headers.get("docker-content-digest") ?? "";
  }

  test("docker pushes, and pulls what it has pushed", async () => {
    const name = `${relay.host}/ada/story`;
    await docker("tag", "auspex-test/relayed", name);
    const pushed = await docker("push", name);
    const digest = await digestAt("ada/story");
    expect(pushed).toContain(digest);
    await docker("image", "rm", name);
    await docker("pull", "--quiet", `${name}@${digest}`);
    await docker("image", "rm", `${name}@${digest}`);
  });

  test.runIf(has("skopeo"))("skopeo copies", async () => {
    const source = `docker-archive:${join(folder, "image.tar")}`;
    await docker("save", "--output", join(folder, "image.tar"), "auspex-test/relayed");
    const args = ["copy", "--insecure-policy", "--dest-tls-verify=false", source];
    const copy = (host: string) =>
      promisify(execFile)("skopeo", [...args, `docker://${host}/ada/copied`]);
    await expect(copy(new URL(edge.url).host)).rejects.toThrow(/413/);
    await copy(relay.host);
    expect(await digestAt("ada/copied")).toMatch(/^sha256:/);
  });

  test.runIf(has("podman"))("podman pushes", async () => {
    const own = [
      "--storage-driver",
      "vfs",
      "--root",
      join(folder, "podman"),
      "--runroot",
      join(folder, "run"),
    ];
    const podman = (...args: string[]) => promisify(execFile)("podman", [...own, ...args]);
    await docker("save", "--output", join(folder, "image.tar"), "auspex-test/relayed");
    const { stdout } = await podman("load", "--input", join(folder, "image.tar"));
    const image = /^Loaded image: (.*)$/m.exec(stdout)?.[1] ?? "";
    await podman("push", "--tls-verify=false", image, `${relay.host}/ada/podded`);
    expect(await digestAt("ada/podded")).toMatch(/^sha256:/);
  });
});
