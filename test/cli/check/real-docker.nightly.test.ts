/** `auspex publish --check` with a real engine: the version has facts that only its server reports. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { docker, makeBase } from "../../docker/registry.ts";
import { dockerIsUp } from "../../runner/support/containers.ts";
import { Home } from "../support/command.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";

if (!dockerIsUp) console.log("Docker does not answer: checking with a real engine is left out.");

/** The images have 50 MB compressed, which take time to load. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** A server that describes itself like vLLM, crashes, or never listens, depending on MODE. */
const SERVER = `
import http from "node:http";
const answers = {
  "/health": "",
  "/v1/models": JSON.stringify({ data: [{ id: "qwen" }] }),
  "/openapi.json": JSON.stringify({ openapi: "3.1.0", paths: { "/v1/chat/completions": {} } }),
};
console.log("loading \\x1b[2Jweights");
if (process.env.MODE === "crashes") throw new Error("no such model");
const loadedAt = Date.now() + 300;
const server = http.createServer(({ url }, response) => {
  if (Date.now() < loadedAt) return response.writeHead(503).end();
  response.writeHead(url in answers ? 200 : 404).end(answers[url]);
});
if (process.env.MODE === "hangs") setInterval(() => {}, 1_000);
else server.listen(process.env.PORT, "0.0.0.0");
`;

describe.runIf(dockerIsUp)("publish --check", () => {
  let deployment: FakeDeployment;
  let home: Home;

  beforeAll(async () => {
    deployment = await FakeDeployment.open();
    home = new Home({
      AUSPEX_URL: deployment.url,
      AUSPEX_TOKEN: "aus_x",
      DOCKER_BUILDKIT: "0",
      DOCKER_HOST: process.env.DOCKER_HOST ?? "",
    });
    await makeBase();
    await home.run(["init", "greeter", "--template", "node"]);
    const served = join(home.folder, "served");
    mkdirSync(served);
    const dockerfile =
      'FROM node:24-slim\nCOPY server.mjs /\nEXPOSE 8000\nCMD ["node", "/server.mjs"]\n';
    writeFileSync(join(served, "Dockerfile"), dockerfile);
    writeFileSync(join(served, "server.mjs"), SERVER);
    await docker("build", "--quiet", "--tag", "auspex-test/served", served);
    writeFileSync(join(served, "auspex.json"), '{"interface": "vendora"}');
  });
  afterEach(async () => {
    expect(await containers()).toBe("");
  });
  afterAll(async () => {
    const images = ["auspex-test/told", "auspex-test/served"];
    await docker("image", "rm", "--force", ...images).catch(() => {});
    deployment.close();
    home.remove();
  });

  /** Returns the containers of this test's images, running or not. */
  const containers = () => docker("ps", "--all", "--quiet", "--filter", "name=auspex-check-");

  const served = (...more: string[]) => [
    ...[
      "publish",
      "served",
      "--no-wait",
      "--image",
      "auspex-test/served",
      "--model",
      "served",
      "--check",
    ],
    ...more,
  ];
  const patches = () =>
    deployment.registry.requests.filter((one) => one.startsWith("PATCH")).length;
  const versions = (model: string) => deployment.models.get(model)?.versions ?? [];

  test("a check of a Cog server puts its schemas into the version", async () => {
    await docker("build", "--quiet", "--tag", "auspex-test/told", join(home.folder, "greeter"));
    // The server is the only source of schemas, because the folder with auspex.json is not given.
    const image = ["--image", "auspex-test/told", "--model", "told"];
    const args = ["publish", "--no-wait", "--check", ...image];
    const { code, err } = await home.run(args);
    expect(code, err).toBe(0);
    expect(err).toMatch(/Started in \d+s\./);
    const [told] = versions("told");
    expect(JSON.stringify(told?.schemas)).toContain("Who to greet");
    expect(told).toMatchObject({
      schemas: { prediction: { stream_output: true } },
      compatibilities: { vendora_chat_completions: false },
    });
  });

  test("the values of auspex.json take precedence over the server's, and the rest follows from them", async () => {
    const image = ["--no-wait", "--image", "auspex-test/told"];
    const plain = await home.run(["publish", "greeter", ...image]);
    const checked = await home.run(["publish", "greeter", ...image, "--check"]);
    expect([plain.code, checked.code], checked.err).toEqual([0, 0]);
    expect(checked.err).toMatch(/Started in/);
    expect(versions("hello")[1]).toEqual(versions("hello")[0]);
  });

  test("a check of a slow server of OpenAI's API puts its calls into the version", async () => {
    const { code, err } = await home.run(served());
    expect(code, err).toBe(0);
    expect(versions("served")).toMatchObject([
      {
        compatibilities: {
          vendora_chat_completions: true,
          vendora_responses: true,
          vendora_embeddings: false,
        },
        schemas: { prediction: { input: { required: ["messages"] }, stream_output: true } },
        configuration: { interface: "vendora" },
      },
    ]);
  });

  test("an image whose server ends is not published, and the error has the reason and advice", async () => {
    const [before, pushed] = [versions("served").length, patches()];
    const args = served("--env", "MODE", "--quiet");
    const { code, err } = await home.run(args, { environment: { MODE: "crashes" } });
    expect(code).toBe(1);
    expect(err).toMatch(/failed to start on this machine: the container exited with code 1\n/);
    expect(err).toMatch(/^loading weights$/m);
    expect(err).toMatch(/^Error: no such model$/m);
    expect(err).toMatch(/publish without --check to detect/);
    expect(versions("served")).toHaveLength(before);
    expect(patches()).toBe(pushed);
  });

  test("an image without an interface is taken for Cog's, and the error says so", async () => {
    const args = ["publish", "--image", "auspex-test/served", "--model", "silent", "--check"];
    const { code, err } = await home.run(args);
    expect(code).toBe(1);
    expect(err).toMatch(/the container has no \/health-check/);
    expect(err).toContain("add --interface openai, or");
  });

  test("Ctrl+C removes the container of the check", async () => {
    const run = home.start(served("--env", "MODE"), { environment: { MODE: "hangs" } });
    await expect.poll(containers, { timeout: 20_000 }).not.toBe("");
    await run.says(/Starting on this machine/);
    run.child.kill("SIGINT");
    const { code, err } = await run.end();
    expect([code, err]).toEqual([130, expect.stringMatching(/auspex: Interrupted\./)]);
  });

  test("a check is refused for a variable that the shell lacks, and for weights that only runners fetch", async () => {
    const missing = await home.run(served("--env", "NOT_SET"));
    expect(missing).toMatchObject({ code: 2, err: expect.stringMatching(/--env NOT_SET: /) });
    const weights = [{ target: "/w", file: `${deployment.url}/files/x` }];
    const said = { interface: "vendora", configuration: { weights } };
    writeFileSync(join(home.folder, "served/auspex.json"), JSON.stringify(said));
    const { code, err } = await home.run(served());
    expect([code, err]).toEqual([1, expect.stringMatching(/only runners download weights/)]);
  });
});
