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
