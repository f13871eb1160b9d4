/** The container that `auspex publish --check` starts. */
import { expect, test } from "vitest";
import { argumentsOf, containerPlan, needsGpu } from "../../../src/cli/check/container.ts";
import { imageConfig } from "../../../src/protocol/oci.ts";

const configOf = (config: Record<string, unknown>) => imageConfig.shape.config.parse(config);

const COG = configOf({
  Labels: { "run.cog.version": "0.17.0", "run.cog.config": '{"build":{"gpu":true}}' },
  ExposedPorts: { "5000/tcp": {} },
});
const VLLM = configOf({
  Env: ["NVIDIA_VISIBLE_DEVICES=all"],
  Entrypoint: ["vllm", "serve"],
  ExposedPorts: { "8000/tcp": {} },
});

const USUAL = { engine: "docker", image: "story", variables: [], hasGpu: false } as const;

test("Cog's server is started like runners start it, on loopback only", () => {
  const plan = containerPlan({ ...USUAL, config: COG, spoken: "cog", maxConcurrency: 4 });
  const args = argumentsOf(plan).join(" ");
  expect(args).toMatch(/--publish 127\.0\.0\.1::5000 /);
  expect(args).toMatch(/--env COG_MAX_CONCURRENCY=4 .*--env HOST=0\.0\.0\.0 --env PORT=5000 /);
  expect(args).toMatch(/ story python -m cog\.server\.http --await-explicit-shutdown=true$/);
  expect(args).toMatch(/--cap-drop=ALL .*--security-opt=no-new-privileges/);
});

test("a server of OpenAI's API gets the port that its image exposes, and its own command", () => {
  const plan = containerPlan({ ...USUAL, config: VLLM, spoken: "vendora", maxConcurrency: 4 });
  const args = argumentsOf(plan).join(" ");
  expect(args).toMatch(/--publish 127\.0\.0\.1::8000 .*--env LLAMA_ARG_PORT=8000 story$/);
  expect(args).not.toContain("COG_");
});

test("GPUs are passed on where the machine has some and the image asks for them", () => {
  const withGpu = (engine: "docker" | "podman", config: typeof COG) =>
    containerPlan({
      ...{ ...USUAL, engine, config, hasGpu: true },
      ...{ spoken: "cog", maxConcurrency: 1 },
    }).flags.filter((flag) => /gpu/.test(flag));
  expect(withGpu("docker", COG)).toEqual(["--gpus=all"]);
  expect(withGpu("podman", VLLM)).toEqual(["--device=nvidia.com/gpu=all"]);
  expect(withGpu("docker", configOf({}))).toEqual([]);
  expect([COG, VLLM, configOf({})].map(needsGpu)).toEqual([true, true, false]);
  const without = { ...USUAL, config: COG, spoken: "cog", maxConcurrency: 1 } as const;
  expect(argumentsOf(containerPlan(without)).join(" ")).not.toContain("gpu");
});

test("variables are given by name, so that no process list shows their values", () => {
  const variables = ["HF_TOKEN", "PORT"];
  const plan = { ...USUAL, variables, config: COG, spoken: "cog", maxConcurrency: 1 } as const;
  const args = argumentsOf(containerPlan(plan));
  expect(args).toContain("HF_TOKEN");
  expect(args.lastIndexOf("PORT=5000")).toBeGreaterThan(args.indexOf("PORT"));
});
