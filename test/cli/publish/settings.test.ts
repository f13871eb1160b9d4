/** The settings of `auspex publish`: auspex.json, the README and options of the command line. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { calls, deployment, edge, home, useEngine, usePublish } from "../support/publish-bed.ts";

usePublish();

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
  const { code, err } = await home.call(["publish", "story", "--no-wait"]);
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
  await home.call(["publish", "story", "--no-wait", "--hardware", "h100"]);
  expect(deployment.models.get("poet")?.versions[1]).toMatchObject({
    configuration: { interface: "vendora", max_concurrency: 8, hardware_identifier: "h100" },
  });
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

test("--visibility that differs from an existing model's is refused before the build", async () => {
  await useEngine("oci");
  await home.call(["publish", "story", "--no-wait", "--visibility", "public"]);
  const builds = () => calls().match(/^build /gm)?.length;
  const other = await home.call(["publish", "story", "--no-wait", "--visibility", "private"]);
  expect(other).toMatchObject({ code: 2, out: "" });
  expect(other.err).toContain("ada/story is public; --visibility only applies to new models");
  expect(other.err).toContain(`${edge.url}/models/ada/story/settings`);
  expect(builds()).toBe(1);
  const same = await home.call(["publish", "story", "--no-wait", "--visibility", "public"]);
  expect(same.code, same.err).toBe(0);
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

test("a remote version is published without an image, and its key is asked for", async () => {
  mkdirSync(join(home.folder, "cache/auspex/scratch"), { recursive: true });
  const remote = ["--remote", "https://api.example.org/v1", "--api", "openai"];
  const publish = ["publish", "--model", "far", ...remote];
  const named = ["--remote-model", "gpt", "--key-variable", "FAR_KEY"];
  const { code, err } = await home.call([...publish, ...named]);
  expect(code, err).toBe(0);
  expect(err).toContain("auspex variables set ada/far FAR_KEY");
  const url = "https://api.example.org/v1";
  expect(deployment.models.get("far")?.versions).toMatchObject([
    {
      configuration: {
        interface: "remote",
        remote: { url, api: "openai", model: "gpt", key_variable: "FAR_KEY" },
      },
    },
  ]);
  expect(deployment.models.get("far")?.versions[0]).not.toHaveProperty("image");
  expect(await home.call(publish)).toMatchObject({
    code: 2,
    err: expect.stringContaining("--remote-model, the name of the model there."),
  });
  deployment.deployments.set("talk", [{}]);
  expect(await home.call(["publish", "ada/talk", ...remote, ...named])).toMatchObject({
    code: 2,
    err: expect.stringContaining("ada/talk is a deployment"),
  });
  expect(await home.call(["publish", "story", "--api", "openai"])).toMatchObject({
    code: 2,
    err: expect.stringContaining("need --remote URL"),
  });
});
