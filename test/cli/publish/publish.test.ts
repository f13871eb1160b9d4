/** `auspex publish` as a user calls it, with an engine that has one image. */
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sized } from "../../support/sized.ts";
import { archiveOf, type Format, layoutOf } from "../support/archives.ts";
import {
  calls,
  deployment,
  edge,
  home,
  layers,
  MIB,
  patched,
  pushed,
  useEngine,
  usePublish,
} from "../support/publish-bed.ts";

usePublish(1.2 * MIB);

test("publish builds for the platform of runners, makes the model, pushes, and prints a call", async () => {
  await useEngine("classic");
  const { code, out, err } = await home.call(["publish", "story", "--no-wait", "-m", "First"]);
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
    /Created ada\/story \(private\)\n(.*\n)*Published ada\/story:1 \(1\.3 MB compressed\)\n/,
  );
  expect(err).toContain("ada/story:1 is now the default version. It has not been started yet.\n");
  expect(Math.max(...edge.bytesOf("PATCH"))).toBeLessThanOrEqual(MIB);
});

const FORMATS: Format[] = ["oci", "classic", "podman", "compressed"];
test.each(FORMATS.slice(0, sized(1, FORMATS.length)))(
  "an image in the format %s is published again without sending a layer, and is the same image",
  async (format) => {
    await useEngine(format);
    const first = await home.call(["publish", "story", "--no-wait", "--json"]);
    expect(first.code, first.err).toBe(0);
    expect(patched()).toBeGreaterThan(MIB);
    const { digest, tars } = pushed();
    expect(tars.map((tar, index) => tar.equals(layers[index] ?? tar))).toEqual(Array(5).fill(true));
    edge.bodies.length = 0;
    const { out, err } = await home.call(["publish", "story", "--no-wait", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ model: "ada/story", number: 2, digest });
    expect(patched()).toBe(0);
    expect(err).toMatch(/Pushed 4 layers \(0 B sent, 4 already there\)/);
  },
);

test("a publish after a killed one sends only the missing bytes", async () => {
  await useEngine("classic");
  const { blobs, uploads } = deployment.registry;
  // One chunk of the first layer arrives, and everything else.
  const begun = new Set<string>();
  let held = 0;
  edge.fate = (method, path) => {
    if (method !== "PATCH") return "pass";
    if (!begun.has(path)) return begun.add(path) && "pass";
    held += 1;
    return "held";
  };
  const first = home.start(["publish", "story"]);
  await expect.poll(() => [held, blobs.size], { timeout: 30_000 }).toEqual([1, 4]);
  first.child.kill("SIGKILL");
  await first.end();
  expect([...uploads.values()].map(({ length }) => length)).toEqual([MIB]);
  expect(readdirSync(join(home.folder, "cache/auspex/scratch"))).toHaveLength(1);
  edge.fate = () => "pass";
  edge.bodies.length = 0;
  const { code, err } = await home.call(["publish", "story", "--no-wait"]);
  expect(code, err).toBe(0);
  const { tars } = pushed();
  expect(tars[0]?.equals(layers[0] ?? Buffer.alloc(0))).toBe(true);
  const largest = Math.max(...[...blobs.values()].map(({ length }) => length));
  expect(patched()).toBe(largest - MIB);
  expect(err).toMatch(/Pushed 4 layers \(210\.\d kB sent, 1\.0 MB resumed, 3 already there\)/);
});

test("a version whose answer is lost is made once", async () => {
  await useEngine("classic");
  let lost = 0;
  edge.fate = (method, path) =>
    method === "POST" && path.endsWith("/versions") && lost++ === 0 ? "unanswered" : "pass";
  const { code, out, err } = await home.call(["publish", "story", "--no-wait", "--json"]);
  expect(code, err).toBe(0);
  expect(lost).toBe(1);
  expect(deployment.models.get("story")?.versions).toHaveLength(1);
  expect(JSON.parse(out)).toMatchObject({ number: 1, digest: pushed().digest });
  // Publishing the same image with the same notes again makes another version.
  const again = await home.call(["publish", "story", "--no-wait", "--json"]);
  expect(JSON.parse(again.out)).toMatchObject({ number: 2 });
});

test("layers of another model of the account are not sent, whether they are known here or not", async () => {
  await useEngine("oci");
  await home.call(["publish", "story", "--no-wait"]);
  const { blobs, mountable, uploads } = deployment.registry;
  for (const isKnown of [true, false].slice(0, sized(1, 2))) {
    for (const [digest, bytes] of blobs) mountable.set(digest, bytes);
    blobs.clear();
    edge.bodies.length = 0;
    if (!isKnown) rmSync(join(home.folder, "state"), { recursive: true });
    const { code, err } = await home.call([
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
  await expect.poll(() => edge.bytesOf("PATCH").length, { timeout: 30_000 }).toBeGreaterThan(0);
  run.child.kill("SIGINT");
  const { code, err } = await run.end();
  expect(code).toBe(130);
  expect(err).toMatch(/auspex: Interrupted\. Run the same command again/);
});

test("an archive is published without an engine, and again without sending a layer", async () => {
  home.environment.PATH = "/nowhere";
  const file = join(home.folder, "image.tar");
  writeFileSync(file, await archiveOf("podman", layers));
  const first = await home.call([
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
  const again = await home.call([
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
  const { code, out, err } = await home.call([...args, "--json"]);
  expect(code, err).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ number: 1, digest });
  expect(pushed().digest).toBe(digest);
  deployment.registry.blobs.clear();
  writeFileSync(file, bytes.fill(1, MIB, MIB + 10));
  const damaged = await home.call([...args, "--model", "other"]);
  expect(damaged).toMatchObject({ code: 1, err: expect.stringContaining(" is damaged. Save the") });
  expect(deployment.models.get("other")?.versions).toEqual([]);
});
