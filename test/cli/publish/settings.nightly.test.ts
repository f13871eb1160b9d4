/** The settings of `auspex publish`: a README that cannot be used, the first call, and the question for hardware. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deployment, home, useEngine, usePublish } from "../support/publish-bed.ts";
import { inTerminal } from "../support/terminal.ts";

usePublish();

test("a README is not used if it is too long or empty, or if the image was not built from its folder", async () => {
  await useEngine("oci");
  const readme = join(home.folder, "story/readme.md");
  writeFileSync(readme, "x".repeat(100_001));
  const { code, err } = await home.call(["publish", "story", "--no-wait"]);
  expect(code, err).toBe(0);
  expect(err).toContain("README.md is longer than an overview can be");
  writeFileSync(readme, "\n");
  await home.call(["publish", "story", "--no-wait"]);
  writeFileSync(readme, "# Story");
  await home.call(["publish", "story", "--no-wait", "--image", "auspex/ada-story"]);
  expect(deployment.models.get("story")?.overview).toBeUndefined();
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
    const { code, out, err } = await home.call([
      "publish",
      "story",
      "--no-wait",
      "--interface",
      spoken,
    ]);
    expect(code, err).toBe(0);
    expect(out).toMatch(printed);
    const { out: json } = await home.call([
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

test("the README of a built folder becomes the overview of a model that has none", async () => {
  await useEngine("oci");
  const readme = join(home.folder, "story/README.md");
  writeFileSync(readme, "---\nlicense: mit\n---\n# Story\n\nWrites.\n");
  const first = await home.call(["publish", "story", "--no-wait"]);
  expect(first.err).toContain("README.md is now the overview of the model, which had none.\n");
  expect(deployment.models.get("story")).toMatchObject({ overview: "# Story\n\nWrites." });
  writeFileSync(readme, "# Another");
  const second = await home.call(["publish", "story", "--no-wait"]);
  expect(second.err).not.toContain("README");
  expect(deployment.models.get("story")).toMatchObject({ overview: "# Story\n\nWrites." });
});

test("--compatibility names an API of the server, and takes precedence over auspex.json", async () => {
  await useEngine("oci");
  writeFileSync(
    join(home.folder, "story/auspex.json"),
    JSON.stringify({ compatibilities: { vendora_embeddings: true, vendora_rerank: true } }),
  );
  const flags = ["vendora_rerank=false", "openai_audio_speech=true"];
  const { code, err } = await home.call([
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
    const refused = await home.call(["publish", "story", "--no-wait", "--compatibility", wrong]);
    expect(refused.err).toContain("Use name=true or name=false. Names: openai_chat_completions,");
    expect(refused.code).toBe(2);
  }
});

test("--interface sets the interface of an image's server, and changes nothing else", async () => {
  await useEngine("oci");
  const configuration = { max_concurrency: 8, interface: "cog" };
  writeFileSync(join(home.folder, "story/auspex.json"), JSON.stringify({ configuration }));
  await home.call(["publish", "story", "--no-wait"]);
  const image = ["publish", "--image", "story:1", "--model", "story", "--no-wait"];
  const { code, err } = await home.call([...image, "--interface", "vendora"]);
  expect(code, err).toBe(0);
  // `--interface` takes precedence over the folder's value, too.
  await home.call(["publish", "story", "--no-wait", "--interface", "vendora"]);
  const made = deployment.models.get("story")?.versions.map((one) => one.configuration);
  const openai = { max_concurrency: 8, interface: "vendora" };
  expect(made).toEqual([configuration, openai, openai]);
});
