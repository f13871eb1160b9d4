/** Real clients of registries push to a deployment and pull from it, over TCP, each with its own login. */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { model } from "../../src/protocol/model.ts";
import { MEDIA_TYPES, manifest } from "../../src/protocol/oci.ts";
import { hasClient } from "../cli/support/clients.ts";
import { docker } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { USERNAME } from "./support/access.ts";
import {
  CLIENTS,
  type ClientName,
  type ImageClient,
  OPENERS,
  running,
} from "./support/image-client.ts";
import { World } from "./support/world.ts";

if (!dockerIsUp) console.log("Docker does not answer: real clients of the registry are left out.");

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const IMAGE = "auspex-test/pushed";
const MIB = 1024 * 1024;

/** The clients' messages for a wrong password; the other clients have words of their own. */
const WRONG: Partial<Record<ClientName, string>> = {
  docker:
    "unauthorized: The password is not a valid access token. Create one at /tokens, and log in with any user name.",
  ctr: "401 Unauthorized",
};

describe.runIf(dockerIsUp)("the registry of a deployment", () => {
  let world: World;
  let folder: string;
  let host: string;
  let archive: string;

  beforeAll(async () => {
    world = await World.open({ publish: async () => {} });
    host = new URL(world.access.url).host;
    folder = mkdtempSync(join(tmpdir(), "auspex-clients-"));
    const context = join(folder, "context");
    mkdirSync(context);
    writeFileSync(join(context, "weights"), randomBytes(300_000));
    writeFileSync(join(context, "Dockerfile"), "FROM scratch\nCOPY weights /\n");
    await docker("build", "--quiet", "--tag", IMAGE, context);
    archive = join(folder, "image.tar");
    await docker("save", "--output", archive, IMAGE);
  });

  afterAll(async () => {
    await docker("image", "rm", "--force", IMAGE);
    await world?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Reads a manifest or a blob from the deployment's registry directly. */
  const read = (path: string, accept: string = MEDIA_TYPES.dockerManifest) =>
    fetch(`${world.access.url}/v2/${USERNAME}/${path}`, {
      headers: { authorization: `Bearer ${world.access.token}`, accept },
    });

  async function digestOf(name: string): Promise<string> {
    const answer = await read(`${name}/manifests/v1`);
    expect(answer.status).toBe(200);
    manifest.parse(await answer.json());
    return answer.headers.get("docker-content-digest") ?? "";
  }

  describe.each(CLIENTS)("%s", (name) => {
    let client: ImageClient;
    const own = () => `${host}/${USERNAME}/${name}`;

    beforeAll(async () => {
      if (!hasClient(name)) return;
      const home = join(folder, name);
      mkdirSync(home);
      client = await OPENERS[name]({ image: IMAGE, archive, folder: home, host });
    });

    afterAll(async () => {
      await client?.close();
    });

    test.runIf(hasClient(name))(
      "the client is let in with a token only, and shows the reason",
      async () => {
        await expect(client.login("wrong")).rejects.toThrow(
          WRONG[name] ?? "invalid username/password",
        );
        if (name !== "ctr") await client.login(world.access.token);
        else await expect(client.login(world.access.token)).rejects.toThrow(/not found/);
      },
    );

    test.runIf(hasClient(name))(
      "the client pushes an image, and pulls the same again",
      async () => {
        await client.push(`${own()}:v1`);
        // A client that pulls by a digest compares it.
        await client.pull(`${own()}@${await digestOf(name)}`);
      },
    );

    test.runIf(hasClient(name))("the client shows the message of a refusal", async () => {
      const other = `${host}/grace/${name}:v1`;
      // `ctr` shows only the status of a refusal.
      const told = name === "ctr" ? "403" : `push to ${USERNAME}/${name}, not grace/${name}.`;
      await expect(client.push(other)).rejects.toThrow(told);
    });

    test.runIf(hasClient(name))(
      "the client pulls a public image without a login, and no private one",
      async () => {
        await client.logout();
        // The pull is by tag: docker remembers images that it had by their digest.
        const pulled = `${own()}:v1`;
        await expect(client.pull(pulled)).rejects.toThrow(/unauthorized|authori[sz]|denied|401/i);
        const body = { visibility: "public" };
        await world.client.call(model, "PATCH", `/models/${USERNAME}/${name}`, { body });
        await client.pull(pulled);
      },
    );
  });

  test.runIf(hasClient("skopeo"))("skopeo deletes an image", async () => {
    const login = ["--authfile", join(folder, "skopeo", "auth.json"), "--tls-verify=false"];
    await running(
      "skopeo",
      ["login", ...login, "-u", "any", "--password-stdin", host],
      world.access.token,
    );
    expect((await read("skopeo/manifests/v1")).status).toBe(200);
    await running("skopeo", ["delete", ...login, `docker://${host}/${USERNAME}/skopeo:v1`]);
    expect((await read("skopeo/manifests/v1")).status).toBe(404);
  });

  test("docker goes on with a push whose connection was cut", async () => {
    const context = join(folder, "large");
    mkdirSync(context);
    writeFileSync(join(context, "weights"), randomBytes(10 * MIB));
    writeFileSync(join(context, "Dockerfile"), "FROM scratch\nCOPY weights /\n");
    const cable = await world.cable();
    const name = `${new URL(cable.url).host}/${USERNAME}/cut:v1`;
    await docker("build", "--quiet", "--tag", name, context);
    const config = { DOCKER_CONFIG: join(folder, "cut") };
    const login = ["login", "-u", "any", "--password-stdin", new URL(cable.url).host];
    await running("docker", login, world.access.token, config);
    cable.cutAfter(9 * MIB);
    const told = await running("docker", ["push", name], "", config);
    expect(told).toContain("Retrying");
    expect(told).toContain(await digestOf("cut"));
    await docker("image", "rm", "--force", name);
  });
});
