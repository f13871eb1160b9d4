/** An image that is pushed to the deployment itself, and run by a runner whose machine has no login. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publishModel } from "../../src/dev/seed.ts";
import { model } from "../../src/protocol/model.ts";
import { buildExample, docker } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { listAllModels } from "../support/models.ts";
import { USERNAME } from "./support/access.ts";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

if (!dockerIsUp) console.log("Docker does not answer: the journey of a pushed image is left out.");

/** The image has 50 MB compressed. */

describe.runIf(dockerIsUp)("an image pushed to the deployment", () => {
  let world: World;
  let name: string;
  /** The configuration folder of `docker login`, which only the publisher has. */
  let login: string;

  beforeAll(async () => {
    world = await World.open({ publish: async () => {} });
    login = mkdtempSync(join(tmpdir(), "auspex-login-"));
    name = `${new URL(world.access.url).host}/${USERNAME}/hello`;
    await buildExample("hello", name);
  });

  afterAll(async () => {
    await world?.close();
    rmSync(login, { recursive: true, force: true });
    const images = await docker("images", "--quiet", "--filter", `reference=${name}`);
    if (images !== "") await docker("image", "rm", "--force", name);
  });

  /** Logs in with the token on standard input: every process could read an argument. */
  async function logIn(): Promise<void> {
    const { host } = new URL(world.access.url);
    const args = ["--config", login, "login", "--username", "any", "--password-stdin", host];
    const child = spawn("docker", args, { stdio: ["pipe", "ignore", "inherit"] });
    child.stdin.end(world.access.token);
    expect(await once(child, "exit")).toEqual([0, null]);
  }

  it("a runner pulls the image with nothing but the job, and the next job finds it", async () => {
    await logIn();
    await docker("--config", login, "push", "--quiet", name);
    const format = "{{index .RepoDigests 0}}";
    const reference = await docker("image", "inspect", "--format", format, name);
    await docker("image", "rm", name);
    const digest = reference.split("@")[1] ?? "";
    const path = `/models/${USERNAME}/hello`;
    // The push has created the model as a private one, so nobody else may pull its image.
    expect(await world.client.call(model, "GET", path)).toMatchObject({ visibility: "private" });
    await expect(docker("pull", `${name}@${digest}`)).rejects.toThrow(/denied|not found|unauthor/);
    const examples = await listAllModels();
    const folder = examples.find(({ manifest }) => manifest.name === "hello");
    if (!folder) throw new Error("no example 'hello'");
    await publishModel(world.client, USERNAME, { ...folder, digest });
    const { id } = await world.client.call(model, "GET", path);

    const environment = { AUSPEX_LOG_LEVEL: "debug" };
    const runner = await world.runner("boxed", { environment });
    const watch = await world.create("hello", { name: "Ada" });
    const full = await endOf(world, watch, "succeeded");
    expect(full.output).toBe("Hello, Ada!");
    // The runner could read the image's manifest, and kept the image's layers during the pull: it logged no
    // `debug`.
    expect(runner.lines.filter((line) => / debug /.test(line))).toEqual([]);
    const setup = JSON.stringify(watch.dataOf("setup"));
    expect(setup).toMatch(/pulling.*starting.*ready/);
    const label = `label=auspex.runner=${runner.name}`;
    const told = '{{.Label "auspex.image"}}';
    expect(await docker("ps", "--filter", label, "--format", told)).toBe(
      `auspex/models/${id}@${digest}`,
    );

    // The runner's next process finds the image under its local name, which has the model's ID.
    await world.retire(runner);
    const local = `${new URL(world.access.url).host}/auspex/models/${id}@${digest}`;
    expect(await docker("image", "inspect", "--format", format, local)).toBe(local);
    await world.runner("again", { name: runner.name });
    const again = await world.create("hello", { name: "Bob" });
    expect((await endOf(world, again, "succeeded")).output).toBe("Hello, Bob!");
    expect(JSON.stringify(again.dataOf("setup"))).not.toContain("pulling");
    await docker("image", "rm", "--force", local);
  });
});
