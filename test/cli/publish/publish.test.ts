/** `auspex publish` as a user calls it, with an engine that has one image. */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { manifest } from "../../../src/protocol/oci.ts";
import { COMMAND } from "../../processes/packages.ts";
import { archiveOf, type Format, fakeDocker, layoutOf } from "../support/archives.ts";
import { Home } from "../support/command.ts";
import { Edge } from "../support/edge.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";
import { sha256 } from "../support/memory-registry.ts";
import { inTerminal } from "../support/terminal.ts";

const MIB = 1024 * 1024;
const CHUNKS = { "oci-chunk-max-length": String(MIB + 65_536) };

let deployment: FakeDeployment;
let edge: Edge;
let home: Home;
/** A layer of incompressible bytes, a small layer, and one that is there twice. */
let layers: Buffer[];
beforeEach(async () => {
  deployment = await FakeDeployment.open(CHUNKS);
  edge = await Edge.open(deployment.url, 2 * MIB);
  home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: "aus_x" });
  const twice = randomBytes(2 * MIB);
  layers = [randomBytes(3 * MIB), twice, Buffer.from("small"), twice, Buffer.alloc(4 * MIB)];
  mkdirSync(join(home.folder, "story"));
  writeFileSync(join(home.folder, "story/Dockerfile"), "FROM scratch\n");
});
afterEach(() => {
  expect(readdirSync(join(home.folder, "cache/auspex/scratch"))).toEqual([]);
  edge.close();
  deployment.close();
  home.remove();
});

async function useEngine(format: Format, platform?: string): Promise<void> {
  const folder = fakeDocker(home.folder, await archiveOf(format, layers), platform);
  home.environment.PATH = [folder, process.env.PATH].join(delimiter);
}

const calls = () => readFileSync(join(home.folder, "bin/calls"), "utf8");

/** Returns the manifest and the layers that the registry has under the tag. */
function pushed(tag = "latest") {
  const { bytes, type } = deployment.registry.manifests.get(tag) ?? { bytes: Buffer.from("{}") };
  const one = manifest.parse(JSON.parse(bytes.toString()));
  const tars = one.layers.map(({ digest, size, mediaType }) => {
    const blob = deployment.registry.blobs.get(digest) ?? Buffer.alloc(0);
    expect([sha256(blob), blob.length]).toEqual([digest, size]);
    return mediaType.endsWith("gzip") ? gunzipSync(blob) : blob;
  });
  expect(deployment.registry.blobs.has(one.config.digest)).toBe(true);
  return { digest: sha256(bytes), type, tars };
}

const patched = () => edge.bytesOf("PATCH").reduce((sum, bytes) => sum + bytes, 0);

test("publish builds for the platform of runners, makes the model, pushes, and prints a call", async () => {
  await useEngine("classic");
  const { code, out, err } = await home.run(["publish", "story", "--no-wait", "-m", "First"]);
  expect(code, err).toBe(0);
  const { digest, tars } = pushed();
  expect(tars.map((tar, index) => tar.equals(layers[index] ?? tar))).toEqual(Array(5).fill(true));
  expect(calls()).toMatch(/^build --platform linux\/amd64 --tag auspex\/ada-story .*\/story$/m);
  expect(deployment.models.get("story")).toEqual({
    name: "story",
    visibility: "private",
    hardware_identifier: "cpu",
    versions: [{ release_notes: "First", image: digest, set_default: true }],
  });
  expect(out).toBe(`${edge.url}/models/ada/story/versions/1\nauspex run ada/story name=world\n`);
  expect(err).toMatch(
    /Created ada\/story \(private\)\n(.*\n)*Published ada\/story:1 \(7\.3 MB compressed\)\n/,
  );
  expect(err).toContain("ada/story:1 is now the default version. It has not been started yet.\n");
  expect(Math.max(...edge.bytesOf("PATCH"))).toBeLessThanOrEqual(MIB);
});

test.each<Format>(["classic", "oci", "podman", "compressed"])(
  "an image in the format %s is published again without sending a layer, and is the same image",
  async (format) => {
    await useEngine(format);
    const first = await home.run(["publish", "story", "--no-wait", "--json"]);
    expect(first.code, first.err).toBe(0);
    expect(patched()).toBeGreaterThan(5 * MIB);
    const { digest, tars } = pushed();
    expect(tars.map((tar, index) => tar.equals(layers[index] ?? tar))).toEqual(Array(5).fill(true));
    edge.bodies.length = 0;
    const { out, err } = await home.run(["publish", "story", "--no-wait", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ model: "ada/story", number: 2, digest });
    expect(patched()).toBe(0);
    expect(err).toMatch(/Pushed 4 layers \(0 B sent, 4 already there\)/);
  },
);

test("a publish after a killed one sends only the missing bytes", async () => {
  await useEngine("classic");
  // The first layer is on its way: one chunk of it has arrived.
  let chunks = 0;
  edge.fate = (method) => (method === "PATCH" && ++chunks > 1 ? "held" : "pass");
  const first = home.start(["publish", "story"]);
  await expect.poll(() => chunks, { timeout: 10_000 }).toBeGreaterThan(3);
  first.child.kill("SIGKILL");
  await first.end();
  const arrived = [...deployment.registry.uploads.values()].reduce(
    (sum, one) => sum + one.length,
    0,
  );
  expect(arrived).toBe(MIB);
  expect(readdirSync(join(home.folder, "cache/auspex/scratch"))).toHaveLength(1);
  edge.fate = () => "pass";
  edge.bodies.length = 0;
  const { code, err } = await home.run(["publish", "story", "--no-wait"]);
  expect(code, err).toBe(0);
  const { tars } = pushed();
  expect(tars[0]?.equals(layers[0] ?? Buffer.alloc(0))).toBe(true);
  const all = [...deployment.registry.blobs.values()].reduce((sum, one) => sum + one.length, 0);
  expect(patched()).toBe(all - MIB);
  expect(err).toMatch(/Pushed 4 layers \(4\.2 MB sent, 1\.0 MB resumed\)/);
});

test("the printed size is that of the service: the configuration and all layers", async () => {
  layers = [Buffer.from("small"), Buffer.from("another")];
  await useEngine("oci");
  const { err } = await home.run(["publish", "story", "--no-wait"]);
  const { bytes } = deployment.registry.manifests.get("latest") ?? { bytes: Buffer.alloc(0) };
  const { config, layers: sent } = manifest.parse(JSON.parse(bytes.toString()));
  const size = sent.reduce((sum, layer) => sum + layer.size, config.size);
  expect(size).toBeLessThan(1_000);
  expect(err).toContain(`Published ada/story:1 (${size} B compressed)`);
});

test("a version whose answer is lost is made once", async () => {
  await useEngine("classic");
  let lost = 0;
  edge.fate = (method, path) =>
    method === "POST" && path.endsWith("/versions") && lost++ === 0 ? "unanswered" : "pass";
  const { code, out, err } = await home.run(["publish", "story", "--no-wait", "--json"]);
  expect(code, err).toBe(0);
  expect(lost).toBe(1);
  expect(deployment.models.get("story")?.versions).toHaveLength(1);
  expect(JSON.parse(out)).toMatchObject({ number: 1, digest: pushed().digest });
  // Publishing the same image with the same notes again makes another version.
  const again = await home.run(["publish", "story", "--no-wait", "--json"]);
  expect(JSON.parse(again.out)).toMatchObject({ number: 2 });
});

test("a token that is revoked while layers are read is reported, not that the engine stopped", async () => {
  await useEngine("classic");
  // The digests of the layers are known from now on, so the registry is asked for them while they are read.
  await home.run(["publish", "story", "--no-wait"]);
  edge.fate = (method) => (method === "HEAD" ? { status: 401 } : "pass");
  const { code, err } = await home.run(["publish", "story", "--no-wait"]);
  expect(code).toBe(1);
  expect(err).toContain("401");
  expect(err).toContain("Log in with auspex login");
  expect(err).not.toContain("save failed");
  edge.fate = () => "pass";
});

test("layers of another model of the account are not sent, whether they are known here or not", async () => {
  await useEngine("oci");
  await home.run(["publish", "story", "--no-wait"]);
  const { blobs, mountable, uploads } = deployment.registry;
  for (const isKnown of [true, false]) {
    for (const [digest, bytes] of blobs) mountable.set(digest, bytes);
    blobs.clear();
    edge.bodies.length = 0;
    if (!isKnown) rmSync(join(home.folder, "state"), { recursive: true });
    const { code, err } = await home.run([
      "publish",
      "story",
      "--no-wait",
      "--model",
      `again-${isKnown}`,
    ]);
    expect(code, err).toBe(0);
    expect(err).toContain("0 B sent");
    // Only the configuration was sent.
    expect(patched()).toBeLessThan(1_000);
    expect(uploads.size).toBe(0);
  }
});

test("Ctrl+C ends a publish cleanly, and says how to go on", async () => {
  await useEngine("oci");
  edge.fate = (method) => (method === "PATCH" ? "held" : "pass");
  const run = home.start(["publish", "story"]);
  await expect.poll(() => edge.bytesOf("PATCH").length, { timeout: 10_000 }).toBeGreaterThan(0);
  run.child.kill("SIGINT");
  const { code, err } = await run.end();
  expect(code).toBe(130);
  expect(err).toMatch(/auspex: Interrupted\. Run the same command again/);
});

// `script` of util-linux gives it a terminal; `script` of BSD has other arguments.
const hasScript = spawnSync("script", ["--version"]).stdout?.includes("util-linux") ?? false;
test.skipIf(!hasScript)(
  "Ctrl+C in a terminal with a progress bar ends a publish cleanly",
  async () => {
    await useEngine("oci");
    edge.fate = (method) => (method === "PATCH" ? "held" : "pass");
    const command = [...COMMAND, "publish", "story"];
    const terminal = spawn("script", ["-qec", command.join(" "), "/dev/null"], {
      cwd: home.folder,
      env: { ...home.environment, TERM: "xterm", SHELL: "/bin/sh" },
    });
    const printed = text(terminal.stdout);
    await expect.poll(() => edge.bytesOf("PATCH").length, { timeout: 10_000 }).toBeGreaterThan(0);
    terminal.stdin.write("\x03");
    const [code] = await once(terminal, "close");
    expect(await printed).toMatch(/auspex: Interrupted\. Run the same command again/);
    expect(code).toBe(130);
  },
);

test("the values of auspex.json go into the model and its version", async () => {
  await useEngine("oci");
  deployment.hardware = ["cpu", "l40s", "h100"];
  const schemas = { prediction: { input: { type: "object" }, output: {}, stream_output: true } };
  const project = {
    name: "poet",
    description: "Writes",
    visibility: "public",
    hardware: "l40s",
    interface: "vendora",
    schemas,
    compatibilities: { vendora_chat_completions: true },
    configuration: { max_concurrency: 8 },
    command: ["node", "model.mjs"],
  };
  writeFileSync(join(home.folder, "story/auspex.json"), JSON.stringify(project));
  const { code, err } = await home.run(["publish", "story", "--no-wait"]);
  expect(code, err).toBe(0);
  expect(deployment.models.get("poet")).toMatchObject({
    description: "Writes",
    visibility: "public",
    hardware_identifier: "l40s",
    versions: [
      {
        schemas,
        compatibilities: { vendora_chat_completions: true },
        configuration: { interface: "vendora", max_concurrency: 8 },
      },
    ],
  });
  await home.run(["publish", "story", "--no-wait", "--hardware", "h100"]);
  expect(deployment.models.get("poet")?.versions[1]).toMatchObject({
    configuration: { interface: "vendora", max_concurrency: 8, hardware_identifier: "h100" },
  });
});

test("the README of a built folder becomes the overview of a model that has none", async () => {
  await useEngine("oci");
  const readme = join(home.folder, "story/README.md");
  writeFileSync(readme, "---\nlicense: mit\n---\n# Story\n\nWrites.\n");
  const first = await home.run(["publish", "story", "--no-wait"]);
  expect(first.err).toContain("README.md is now the overview of the model, which had none.\n");
  expect(deployment.models.get("story")).toMatchObject({ overview: "# Story\n\nWrites." });
  writeFileSync(readme, "# Another");
  const second = await home.run(["publish", "story", "--no-wait"]);
  expect(second.err).not.toContain("README");
  expect(deployment.models.get("story")).toMatchObject({ overview: "# Story\n\nWrites." });
});

test("a README is not used if it is too long or empty, or if the image was not built from its folder", async () => {
  await useEngine("oci");
  const readme = join(home.folder, "story/readme.md");
  writeFileSync(readme, "x".repeat(100_001));
  const { code, err } = await home.run(["publish", "story", "--no-wait"]);
  expect(code, err).toBe(0);
  expect(err).toContain("README.md is longer than an overview can be");
  writeFileSync(readme, "\n");
  await home.run(["publish", "story", "--no-wait"]);
  writeFileSync(readme, "# Story");
  await home.run(["publish", "story", "--no-wait", "--image", "auspex/ada-story"]);
  expect(deployment.models.get("story")?.overview).toBeUndefined();
});

test("--compatibility names an API of the server, and takes precedence over auspex.json", async () => {
  await useEngine("oci");
  writeFileSync(
    join(home.folder, "story/auspex.json"),
    JSON.stringify({ compatibilities: { vendora_embeddings: true, vendora_rerank: true } }),
  );
  const flags = ["vendora_rerank=false", "openai_audio_speech=true"];
  const { code, err } = await home.run([
    ...["publish", "story", "--no-wait", "--model", "poet"],
    ...flags.flatMap((flag) => ["--compatibility", flag]),
  ]);
  expect(code, err).toBe(0);
  expect(deployment.models.get("poet")?.versions[0]).toMatchObject({
    compatibilities: {
      vendora_embeddings: true,
      vendora_rerank: false,
      vendora_audio_speech: true,
    },
  });
  for (const wrong of ["vendora_rerank", "vendora_rerank=yes", "whisper=true"]) {
    const refused = await home.run(["publish", "story", "--no-wait", "--compatibility", wrong]);
    expect(refused.err).toContain("Use name=true or name=false. Names: openai_chat_completions,");
    expect(refused.code).toBe(2);
  }
});

test("--visibility that differs from an existing model's is refused before the build", async () => {
  await useEngine("oci");
  await home.run(["publish", "story", "--no-wait", "--visibility", "public"]);
  const builds = () => calls().match(/^build /gm)?.length;
  const other = await home.run(["publish", "story", "--no-wait", "--visibility", "private"]);
  expect(other).toMatchObject({ code: 2, out: "" });
  expect(other.err).toContain("ada/story is public; --visibility only applies to new models");
  expect(other.err).toContain(`${edge.url}/models/ada/story/settings`);
  expect(builds()).toBe(1);
  const same = await home.run(["publish", "story", "--no-wait", "--visibility", "public"]);
  expect(same.code, same.err).toBe(0);
});

test.each([
  ["cog", /^http\S+\/versions\/1\n$/, null],
  [
    "vendora",
    /\nauspex run ada\/story messages:='\[\{"role":"user","content":"Who are you\?"\}\]'\n$/,
    expect.stringContaining("messages:="),
  ],
])(
  "a %s version that awaits its first start has a call that works, or none",
  async (spoken, printed, call) => {
    await useEngine("oci");
    deployment.awaits = true;
    const { code, out, err } = await home.run([
      "publish",
      "story",
      "--no-wait",
      "--interface",
      spoken,
    ]);
    expect(code, err).toBe(0);
    expect(out).toMatch(printed);
    const { out: json } = await home.run([
      "publish",
      "story",
      "--no-wait",
      "--interface",
      spoken,
      "--json",
    ]);
    expect(JSON.parse(json)).toMatchObject({ call });
  },
);

test("Ctrl+C while publish waits for a start says that the version is published, and how to start it", async () => {
  await useEngine("oci");
  const waits = () => edge.bodies.some(({ path }) => path === "/v1/predictions");
  edge.fate = (_, path) => (path === "/v1/predictions" ? "held" : "pass");
  const run = home.start(["publish", "story"]);
  await expect.poll(waits, { timeout: 10_000 }).toBe(true);
  run.child.kill("SIGINT");
  const { code, out, err } = await run.end();
  expect([code, out]).toEqual([130, ""]);
  expect(err).toMatch(
    /\nauspex: Interrupted\. ada\/story:1 was published\. To start it, run it: auspex run ada\/story name=world\n$/,
  );
});

test("the question for hardware describes every class", async () => {
  await useEngine("oci");
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
  deployment.hardware = ["cpu", "l40s"];
  const typed = { keys: "\u0003", after: /Hardware for ada\/story/ };
  const { code, screen } = await inTerminal(home, ["publish", "story"], typed);
  expect(code).toBe(130);
  expect(screen).toMatch(/cpu +CPU\b/);
  expect(screen).toMatch(/l40s +L40S, 1 GPU\b/);
});

test("--interface sets the interface of an image's server, and changes nothing else", async () => {
  await useEngine("oci");
  const configuration = { max_concurrency: 8, interface: "cog" };
  writeFileSync(join(home.folder, "story/auspex.json"), JSON.stringify({ configuration }));
  await home.run(["publish", "story", "--no-wait"]);
  const image = ["publish", "--image", "story:1", "--model", "story", "--no-wait"];
  const { code, err } = await home.run([...image, "--interface", "vendora"]);
  expect(code, err).toBe(0);
  // `--interface` takes precedence over the folder's value, too.
  await home.run(["publish", "story", "--no-wait", "--interface", "vendora"]);
  const made = deployment.models.get("story")?.versions.map((one) => one.configuration);
  const openai = { max_concurrency: 8, interface: "vendora" };
  expect(made).toEqual([configuration, openai, openai]);
});

test("an archive is published without an engine, and again without sending a layer", async () => {
  home.environment.PATH = "/nowhere";
  const file = join(home.folder, "image.tar");
  writeFileSync(file, await archiveOf("podman", layers));
  const first = await home.run([
    "publish",
    "--archive",
    file,
    "--no-wait",
    "--model",
    "story",
    "--json",
  ]);
  expect(first.code, first.err).toBe(0);
  const { digest, tars } = pushed();
  expect(tars.map((tar, index) => tar.equals(layers[index] ?? tar))).toEqual(Array(5).fill(true));
  edge.bodies.length = 0;
  const again = await home.run([
    "publish",
    "--archive",
    file,
    "--no-wait",
    "--model",
    "story",
    "--json",
  ]);
  expect(JSON.parse(again.out)).toMatchObject({ number: 2, digest });
  expect(patched()).toBe(0);
});

test("an OCI layout keeps its manifest and blobs, and a damaged layer is not sent", async () => {
  const file = join(home.folder, "image.tar");
  const { bytes, digest } = await layoutOf(layers.slice(0, 3));
  writeFileSync(file, bytes);
  const args = ["publish", "--archive", file, "--no-wait", "--model", "story"];
  const { code, out, err } = await home.run([...args, "--json"]);
  expect(code, err).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ number: 1, digest });
  expect(pushed().digest).toBe(digest);
  deployment.registry.blobs.clear();
  writeFileSync(file, bytes.fill(1, MIB, MIB + 10));
  const damaged = await home.run([...args, "--model", "other"]);
  expect(damaged).toMatchObject({ code: 1, err: expect.stringContaining(" is damaged. Save the") });
  expect(deployment.models.get("other")?.versions).toEqual([]);
});

test("a cog.yaml is built by Cog, which must be installed", async () => {
  await useEngine("oci");
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
  writeFileSync(join(home.folder, "story/cog.yaml"), 'predict: "predict.py:Predictor"\n');
  // The PATH leaves out Cog, which may be installed on this machine.
  home.environment.PATH = [join(home.folder, "bin"), "/bin"].join(delimiter);
  const without = await home.run(["publish", "story", "--no-wait"]);
  expect(without).toMatchObject({ code: 1, err: expect.stringContaining("Cog is not installed") });
  const script = `#!/bin/sh\nhere=$(dirname "$0")\necho "cog $* in $(basename "$PWD")" >>"$here/calls"\nrm -f "$here/untagged"\n`;
  writeFileSync(join(home.folder, "bin/cog"), script, { mode: 0o755 });
  const { code, err } = await home.run(["publish", "story", "--no-wait"]);
  expect(code, err).toBe(0);
  expect(calls()).toMatch(/^cog build --tag auspex\/ada-story in story$/m);
  expect(calls()).toMatch(/^save auspex\/ada-story:latest$/m);
});

test("an existing image is published, a missing one is pulled, and one of another platform is refused", async () => {
  await useEngine("oci", "linux/arm64");
  const arm = await home.run(["publish", "--image", "story:1", "--model", "story"]);
  expect(arm).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /story:1 is built for linux\/arm64.*\n?.*docker build --platform linux\/amd64/,
    ),
  });
  expect(calls()).not.toMatch(/^(build|pull|save)/m);
  await home.run(["publish", "--image", "missing", "--model", "story"]);
  expect(calls()).toMatch(/^pull --platform linux\/amd64 missing$/m);
  // No model is made for an image that does not exist.
  expect(deployment.models.size).toBe(0);
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
});

test("a publish that cannot succeed is refused with advice before anything is built", async () => {
  await useEngine("oci");
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
  mkdirSync(join(home.folder, "empty"));
  const says = async (args: string[], code: number, message: RegExp) => {
    const ended = await home.run(["publish", ...args]);
    expect(ended).toMatchObject({ code, out: "", err: expect.stringMatching(message) });
  };
  await says(["nowhere"], 2, /Folder not found: nowhere/);
  await says(["empty"], 2, /No cog\.yaml or Dockerfile.*auspex init/);
  await says(["--archive", "none.tar", "--model", "a"], 2, /Not found: none\.tar/);
  await says(["--archive", "a.tar", "--check"], 2, /docker load --input FILE/);
  await says(
    ["story", "--model", "bob/story"],
    2,
    /Permission denied: you are ada, the model belongs to bob/,
  );
  for (const name of ["Story!", "ada/story/b", "ada/story:2", "/story", "ada/"])
    await says(["story", "--model", name], 2, /Invalid model name/);
  await says(["story", "--env", "HF_TOKEN"], 2, /--env only works with --check/);
  await says(["story", "--check", "--env", "NOT_SET"], 2, /--env NOT_SET: not set in this shell/);
  await says(["story", "--tag", "bad tag"], 2, /--tag.*'bad tag' is invalid.*128 letters, digits/);
  await says(["story", "--visibility", "secret"], 2, /private, public, restricted/);
  await says(["story", "--interface", "tgi"], 2, /Use one of cog, openai, vendora/);
  writeFileSync(join(home.folder, "story/auspex.json"), '{"visibility": "secret"}');
  await says(["story"], 2, /^auspex: auspex\.json: visibility: Invalid option: /);
  writeFileSync(join(home.folder, "story/auspex.json"), '{"name": "Story!", "hardware": 1}');
  const both = /^auspex: auspex\.json: name: lower-case letters.*\nauspex\.json: hardware: .*\n$/;
  await says(["story"], 2, both);
  writeFileSync(join(home.folder, "story/auspex.json"), "{");
  await says(["story"], 2, /^auspex: auspex\.json: invalid JSON: /);
  expect(existsSync(join(home.folder, "bin/calls"))).toBe(false);
});

test("an image that the builder does not export is not replaced by that of the last build", async () => {
  await useEngine("oci");
  expect(await home.run(["publish", "story", "--no-wait"])).toMatchObject({ code: 0 });
  writeFileSync(join(home.folder, "bin/elsewhere"), "");
  const { code, err } = await home.run(["publish", "story", "--no-wait"]);
  expect([code, err]).toEqual([1, expect.stringContaining("not loaded into docker")]);
  expect(deployment.models.get("story")?.versions).toHaveLength(1);
});

test("a build that fails is reported in the engine's words", async () => {
  await useEngine("oci");
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
  writeFileSync(join(home.folder, "bin/broken"), "");
  const { code, err } = await home.run(["publish", "story", "--no-wait"]);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/auspex: docker build failed\.\nno space\n$/),
  ]);
});

test("a publish with refused options makes no model, and builds nothing", async () => {
  await useEngine("oci");
  const refused = async (args: string[]) => {
    const { code, err } = await home.run(["publish", ...args]);
    expect(code, err).toBe(2);
    expect(deployment.models.size).toBe(0);
    return err;
  };
  expect(await refused(["story", "--hardware", "h100"])).toContain(
    'Unknown hardware "h100". Available: cpu.',
  );
  writeFileSync(join(home.folder, "story/auspex.json"), '{"interfaces": "vendora"}');
  expect(await refused(["story"])).toContain('Unrecognized key: "interfaces"');
  expect(existsSync(join(home.folder, "bin/calls")) ? calls() : "").not.toContain("build");
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
});
