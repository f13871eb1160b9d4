/**
 * Real clients push a layer that is larger than the zone takes: refused without the relay, there with
 * it. Each where it is installed.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RegistryClient } from "../../../src/cli/registry/registry-client.ts";
import { type Relay, startRelay } from "../../../src/cli/relay/relay.ts";
import { manifest } from "../../../src/protocol/oci.ts";
import { docker, type Registry, startRegistry } from "../../docker/registry.ts";
import { dockerIsUp } from "../../runner/support/containers.ts";
import { Containerd, hasClient, withStore } from "../support/clients.ts";
import { Edge } from "../support/edge.ts";

const MIB = 1024 * 1024;
const LIMIT = 3 * MIB;
const ANNOUNCED = { "oci-chunk-max-length": String(2 * MIB + 65_536) };

if (!dockerIsUp) console.log("Docker does not answer: real clients of the relay are left out.");

describe.runIf(dockerIsUp)("through the relay", () => {
  let registry: Registry;
  let edge: Edge;
  let relay: Relay;
  let folder: string;
  /** What `docker save` has written, and what podman, buildah and skopeo call it. */
  let file: string;
  let archive: string;

  beforeAll(async () => {
    registry = await startRegistry();
    edge = await Edge.open(`http://${registry.host}`, LIMIT, ANNOUNCED);
    folder = mkdtempSync(join(tmpdir(), "auspex-relay-"));
    const context = join(folder, "context");
    mkdirSync(context);
    writeFileSync(join(context, "weights"), randomBytes(5 * MIB));
    writeFileSync(join(context, "Dockerfile"), "FROM scratch\nCOPY weights /\n");
    await docker("build", "--quiet", "--tag", "auspex-test/relayed", context);
    file = join(folder, "image.tar");
    archive = `docker-archive:${file}`;
    await docker("save", "--output", file, "auspex-test/relayed");
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

  test.runIf(hasClient("skopeo"))("skopeo copies, there and back", async () => {
    const skopeo = (...args: string[]) =>
      promisify(execFile)("skopeo", ["copy", "--insecure-policy", ...args]);
    const push = (host: string) =>
      skopeo("--dest-tls-verify=false", archive, `docker://${host}/ada/copied`);
    // Who is refused while it still sends may see the cut connection instead of the answer.
    const refused = /413|broken pipe|connection reset/;
    await expect(push(new URL(edge.url).host)).rejects.toThrow(refused);
    await push(relay.host);
    const name = `docker://${relay.host}/ada/copied@${await digestAt("ada/copied")}`;
    await skopeo("--src-tls-verify=false", name, `dir:${join(folder, "copied")}`);
  });

  test.runIf(hasClient("podman"))("podman pushes and pulls", async () => {
    const podman = withStore("podman", folder);
    const image = await podman("pull", "--quiet", archive);
    const name = `${relay.host}/ada/podded`;
    await podman("push", "--tls-verify=false", image, name);
    const pushed = `${name}@${await digestAt("ada/podded")}`;
    await podman("image", "rm", "--force", image);
    expect(await podman("pull", "--quiet", "--tls-verify=false", pushed)).toBe(image);
  });

  test.runIf(hasClient("buildah"))("buildah pushes and pulls", async () => {
    const buildah = withStore("buildah", folder);
    const image = await buildah("pull", "--quiet", archive);
    const name = `${relay.host}/ada/built`;
    await buildah("push", "--tls-verify=false", image, `docker://${name}`);
    const pushed = `${name}@${await digestAt("ada/built")}`;
    await buildah("rmi", "--force", image);
    expect(await buildah("pull", "--quiet", "--tls-verify=false", pushed)).toBe(image);
  });

  test.runIf(hasClient("ctr"))("ctr pushes and pulls", async () => {
    const containerd = await Containerd.start(folder);
    try {
      const ctr = (...args: string[]) => containerd.ctr("images", ...args);
      await ctr("import", file);
      const image = await ctr("list", "--quiet");
      await ctr("push", "--plain-http", `${relay.host}/ada/contained:latest`, image);
      const pushed = `${relay.host}/ada/contained@${await digestAt("ada/contained")}`;
      await ctr("remove", image);
      await ctr("pull", "--plain-http", pushed);
      expect(await ctr("list", "--quiet")).toBe(pushed);
    } finally {
      await containerd.stop();
    }
  });
});
