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
