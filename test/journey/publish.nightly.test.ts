/** `auspex publish` against the real registry, behind a zone that takes small requests. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { version } from "../../src/protocol/model.ts";
import { manifest } from "../../src/protocol/oci.ts";
import { archiveOf, fakeDocker } from "../cli/support/archives.ts";
import { hasClient } from "../cli/support/clients.ts";
import { Home } from "../cli/support/command.ts";
import { Edge } from "../cli/support/edge.ts";
import { sha256 } from "../cli/support/memory-registry.ts";
import { docker, makeBase } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { World } from "./support/world.ts";

const MIB = 1024 * 1024;
/** The smallest chunk that the registry takes. The announced limit allows requests of 64 KiB more. */
const CHUNK = 8 * MIB;
const ANNOUNCED = { "oci-chunk-max-length": String(CHUNK + 65_536) };

let world: World;
let edge: Edge;
let home: Home;
/** The layers of the image: the base, which is larger than the zone takes, and a small one. */
let layers: Buffer[];

beforeAll(async () => {
  world = await World.open({ variables: { IMAGE_REGISTRY: "" }, publish: async () => {} });
  edge = await Edge.open(world.access.url, 10 * MIB, ANNOUNCED);
  home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: world.access.token });
  layers = [randomBytes(2.5 * CHUNK), Buffer.from("model")];
  const folder = fakeDocker(home.folder, await archiveOf("classic", layers));
  home.environment.PATH = [folder, process.env.PATH].join(delimiter);
  await home.run(["init", "greeter", "--template", "node"]);
});
afterAll(async () => {
  edge.close();
  home.remove();
  await world.close();
});

const patched = () => edge.bytesOf("PATCH");
const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

it("a push that continues a killed one sends only what is missing; the third sends nothing", async () => {
  let isHeld = false;
  // The second chunk of a layer is held: its first one has been answered.
  edge.fate = (method, path) => {
    const chunks = edge.bodies.filter((one) => one.method === method && one.path === path);
    if (method !== "PATCH" || chunks.length < 2) return "pass";
    isHeld = true;
    return "held";
  };
  const first = home.start(["publish", "greeter"]);
  await expect.poll(() => isHeld, { timeout: 30_000 }).toBe(true);
  first.child.kill("SIGKILL");
  await first.end();
  edge.fate = () => "pass";
  edge.bodies.length = 0;
  const second = await home.run(["publish", "greeter", "--no-wait", "--json"]);
  expect(second.code, second.err).toBe(0);
  const again = sum(patched());
  expect(again).toBeGreaterThan(1.5 * CHUNK);
  expect(again).toBeLessThan(1.6 * CHUNK);
  edge.bodies.length = 0;
  const third = await home.run(["publish", "greeter", "--no-wait", "--json"]);
  expect(sum(patched())).toBe(0);
  const told = [second, third].map(({ out }) => JSON.parse(out));
  expect(told.map(({ number }) => number)).toEqual([1, 2]);
  expect(told[1].digest).toBe(told[0].digest);
  const made = await world.client.call(version, "GET", "/models/ada/greeter/versions/2");
  expect(made).toMatchObject({
    container_image_digest: told[0].digest,
    status: "ready",
    configuration: { interface: "cog", max_concurrency: 8 },
    schemas: JSON.parse(readFileSync(join(home.folder, "greeter/auspex.json"), "utf8")).schemas,
  });
});

it("the registry has the same layers that the engine had", async () => {
  const get = (path: string) =>
    fetch(`${world.access.url}/v2/ada/greeter/${path}`, {
      headers: { authorization: `Bearer ${world.access.token}` },
    });
  const { layers: listed } = manifest.parse(await (await get("manifests/latest")).json());
  expect(listed).toHaveLength(2);
  for (const { digest, size } of listed) {
    const bytes = Buffer.from(await (await get(`blobs/${digest}`)).arrayBuffer());
    expect([sha256(bytes), bytes.length]).toEqual([digest, size]);
  }
});

it.each([
  ["when a layer is due", "POST", /\/blobs\/uploads\//],
  ["when its manifest is due", "PUT", /\/manifests\//],
])(
  "a model that is deleted in the middle of its push, %s, stays deleted",
  async (_, how, where) => {
    const path = `/models/ada/gone-${how.toLowerCase()}`;
    let waits = 0;
    edge.fate = (method, at) =>
      method === how && where.test(at) && ++waits ? { status: 503 } : "pass";
    const push = home.start(["publish", "greeter", "--model", path.replace("/models/", "")]);
    await expect.poll(() => waits, { timeout: 30_000 }).toBeGreaterThan(0);
    await world.client.call({ parse: () => {} }, "DELETE", path);
    edge.fate = () => "pass";
    const { code, err } = await push.end();
    expect({ code, err }).toMatchObject({
      code: 1,
      err: expect.stringContaining("deleted or renamed during"),
    });
    expect((await world.client.fetch("GET", path)).status).toBe(404);
  },
);

it("a token that may not publish is refused before anything is built", async () => {
  const calls = () => readFileSync(join(home.folder, "bin/calls"), "utf8");
  const before = calls();
  const wrong = await home.run(["publish", "greeter"], {
    environment: { AUSPEX_TOKEN: "aus_wrong" },
  });
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining("auspex login") });
  expect(calls()).toBe(before);
});

describe.runIf(dockerIsUp)("with Docker", () => {
  it("archives of docker save and of skopeo are published in chunks, and pulled and run", async () => {
    const environment = { PATH: process.env.PATH ?? "" };
    const context = join(home.folder, "context");
    const name = "auspex-test/saved";
    await makeBase();
    await home.run(["init", context, "--template", "node"]);
    writeFileSync(join(context, "weights"), randomBytes(12 * MIB));
    await docker("build", "--quiet", "--tag", name, context);
    const tar = join(home.folder, "image.tar");
    await docker("save", "--output", tar, name);
    const layout = join(home.folder, "layout");
    if (hasClient("skopeo")) {
      const to = ["--insecure-policy", `docker-archive:${tar}`, `oci:${layout}`];
      await promisify(execFile)("skopeo", ["copy", ...to]);
    }
    const host = new URL(world.access.url).host;
    await docker("login", host, "--username", "ada", "--password", world.access.token);
    try {
      for (const archive of hasClient("skopeo") ? [tar, layout] : [tar]) {
        edge.bodies.length = 0;
        const args = [
          "publish",
          context,
          "--archive",
          archive,
          "--model",
          "saved",
          "--no-wait",
          "--json",
        ];
        const { code, out, err } = await home.run(args, { environment });
        expect(code, err).toBe(0);
        if (archive === tar) expect(Math.max(...patched())).toBe(CHUNK);
        await docker("image", "rm", "--force", name);
        const pulled = `${host}/ada/saved@${JSON.parse(out).digest}`;
        await docker("pull", "--quiet", pulled);
        expect(await docker("run", "--rm", pulled, "node", "--print", "'served'")).toBe("served");
        await docker("image", "rm", "--force", pulled);
      }
    } finally {
      await docker("logout", host);
    }
  });
});
