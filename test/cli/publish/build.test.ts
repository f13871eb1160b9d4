/** `auspex publish` before it pushes: images that are built, found or refused. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { calls, deployment, home, useEngine, usePublish } from "../support/publish-bed.ts";

usePublish();

test("a cog.yaml is built by Cog, which must be installed", async () => {
  await useEngine("oci");
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
  writeFileSync(join(home.folder, "story/cog.yaml"), 'predict: "predict.py:Predictor"\n');
  // The PATH leaves out Cog, which may be installed on this machine.
  home.environment.PATH = [join(home.folder, "bin"), "/bin"].join(delimiter);
  const without = await home.call(["publish", "story", "--no-wait"]);
  expect(without).toMatchObject({ code: 1, err: expect.stringContaining("Cog is not installed") });
  const script = `#!/bin/sh\nhere=$(dirname "$0")\necho "cog $* in $(basename "$PWD")" >>"$here/calls"\nrm -f "$here/untagged"\n`;
  writeFileSync(join(home.folder, "bin/cog"), script, { mode: 0o755 });
  const { code, err } = await home.call(["publish", "story", "--no-wait"]);
  expect(code, err).toBe(0);
  expect(calls()).toMatch(/^cog build --tag auspex\/ada-story in story$/m);
  expect(calls()).toMatch(/^save auspex\/ada-story:latest$/m);
});

test("an existing image is published, a missing one is pulled, and one of another platform is refused", async () => {
  await useEngine("oci", "linux/arm64");
  const arm = await home.call(["publish", "--image", "story:1", "--model", "story"]);
  expect(arm).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /story:1 is built for linux\/arm64.*\n?.*docker build --platform linux\/amd64/,
    ),
  });
  expect(calls()).not.toMatch(/^(build|pull|save)/m);
  await home.call(["publish", "--image", "missing", "--model", "story"]);
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
    const ended = await home.call(["publish", ...args]);
    expect(ended).toMatchObject({ code, out: "", err: expect.stringMatching(message) });
  };
  await says(["nowhere"], 2, /Folder not found: nowhere/);
  await says(["empty"], 2, /No cog\.yaml or Dockerfile.*auspex init/);
  await says(["--archive", "none.tar", "--model", "a"], 2, /Not found: none\.tar/);
  await says(["--archive", "a.tar", "--check"], 2, /docker load --input FILE/);
  await says(["bob/story"], 2, /No cog\.yaml or Dockerfile/);
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
  const both =
    /^auspex: auspex\.json: name: Use lower-case letters.*\nauspex\.json: hardware: .*\n$/;
  await says(["story"], 2, both);
  writeFileSync(join(home.folder, "story/auspex.json"), "{");
  await says(["story"], 2, /^auspex: auspex\.json: invalid JSON: /);
  expect(existsSync(join(home.folder, "bin/calls"))).toBe(false);
});

test("an image that the builder does not export is not replaced by that of the last build", async () => {
  await useEngine("oci");
  expect(await home.call(["publish", "story", "--no-wait"])).toMatchObject({ code: 0 });
  writeFileSync(join(home.folder, "bin/elsewhere"), "");
  const { code, err } = await home.call(["publish", "story", "--no-wait"]);
  expect([code, err]).toEqual([1, expect.stringContaining("not loaded into docker")]);
  expect(deployment.models.get("story")?.versions).toHaveLength(1);
});

test("a build that fails is reported in the engine's words", async () => {
  await useEngine("oci");
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
  writeFileSync(join(home.folder, "bin/broken"), "");
  const { code, err } = await home.call(["publish", "story", "--no-wait"]);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/auspex: docker build failed\.\nno space\n$/),
  ]);
});

test("a publish with refused options makes no model, and builds nothing", async () => {
  await useEngine("oci");
  const refused = async (args: string[]) => {
    const { code, err } = await home.call(["publish", ...args]);
    expect(code, err).toBe(2);
    expect(deployment.models.size).toBe(0);
    return err;
  };
  expect(await refused(["story", "--hardware", "h100"])).toContain(
    'Unknown hardware "h100". Available: cpu.',
  );
  expect(await refused(["story", "--model", "bob/story"])).toContain(
    "bob/story doesn't exist, or isn't shared with ada. Only bob can create it. If it is your organization, run: auspex switch bob, or set AUSPEX_TOKEN to one of its tokens.",
  );
  writeFileSync(join(home.folder, "story/auspex.json"), '{"interfaces": "vendora"}');
  expect(await refused(["story"])).toContain('Unrecognized key: "interfaces"');
  expect(existsSync(join(home.folder, "bin/calls")) ? calls() : "").not.toContain("build");
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
});
