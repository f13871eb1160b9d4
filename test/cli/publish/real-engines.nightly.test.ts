/** Real engines: the folder of `auspex init` is built, pushed, pulled, and run as it was published. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { docker, makeBase } from "../../docker/registry.ts";
import { dockerIsUp } from "../../runner/support/containers.ts";
import { hasClient, withStore } from "../support/clients.ts";
import { Home } from "../support/command.ts";
import { FakeDeployment } from "../support/fake-deployment.ts";

if (!dockerIsUp) console.log("Docker does not answer: publishing with real engines is left out.");

describe.runIf(dockerIsUp)("publish", () => {
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
  });
  afterAll(async () => {
    await docker("image", "rm", "--force", "auspex/ada-greeter").catch(() => {});
    deployment.close();
    home.remove();
  });

  test("an image is built by docker, pushed once, pulled by its digest, and run", {
    timeout: 120_000,
  }, async () => {
    const first = await home.run(["publish", "greeter", "--json", "--no-wait"]);
    expect(first.code, first.err).toBe(0);
    const { digest } = JSON.parse(first.out);
    const patches = () => deployment.registry.requests.filter((one) => one.startsWith("PATCH"));
    const before = patches().length;
    const again = await home.run(["publish", "greeter", "--json", "--no-wait"]);
    expect(JSON.parse(again.out)).toMatchObject({ digest, number: 2 });
    expect(patches().length).toBe(before);
    await docker("image", "rm", "--force", "auspex/ada-greeter");
    const reference = `${new URL(deployment.url).host}/ada/greeter@${digest}`;
    await docker("pull", "--quiet", reference);
    const version = await docker(
      "run",
      "--rm",
      reference,
      "node",
      "--eval",
      "import('./cog.mjs').then(() => console.log('served'))",
    );
    expect(version).toBe("served");
    await docker("image", "rm", "--force", reference);
  });

  test.runIf(hasClient("podman"))("an existing image is published from podman", async () => {
    const podman = withStore("podman", home.folder);
    const context = join(home.folder, "context");
    const dockerfile = "FROM scratch\nCOPY model.mjs /\nLABEL told=true\n";
    await home.run(["init", context, "--template", "node"]);
    writeFileSync(join(context, "Dockerfile"), dockerfile);
    await podman("build", "--tag", "localhost/tiny", context);
    // Podman finds its store by its own settings.
    const settings = { CONTAINERS_STORAGE_CONF: join(home.folder, "storage.conf") };
    const [root, runroot] = ["podman", "podman-run"].map((name) => join(home.folder, name));
    const store = `[storage]\ndriver = "vfs"\ngraphroot = "${root}"\nrunroot = "${runroot}"\n`;
    writeFileSync(settings.CONTAINERS_STORAGE_CONF, store);
    const image = ["--image", "localhost/tiny", "--model", "tiny"];
    const args = ["publish", "--engine", "podman", "--no-wait", ...image];
    const { code, err } = await home.run(args, { environment: settings });
    expect(code, err).toBe(0);
    expect(deployment.models.get("tiny")?.versions).toHaveLength(1);
  });
});
