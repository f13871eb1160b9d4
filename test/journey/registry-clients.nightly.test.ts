/** Real clients of registries push to a deployment and pull from it, over TCP, each with its own login. */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { model } from "../../src/protocol/model.ts";
import { MEDIA_TYPES, manifest } from "../../src/protocol/oci.ts";
import { Containerd, hasClient, withStore } from "../cli/support/clients.ts";
import { docker } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { USERNAME } from "./support/access.ts";
import { World } from "./support/world.ts";

const CLIENTS = ["docker", "podman", "skopeo", "buildah", "ctr"] as const;
type ClientName = (typeof CLIENTS)[number];

interface ImageClient {
  /** Logs in. The output of a failure is the message of its error. */
  login(password: string): Promise<string>;
  logout(): Promise<unknown>;
  /** Pushes the image of the test by a name: `host/owner/name:tag`. */
  push(name: string): Promise<unknown>;
  /** Pulls an image again, after the client has forgotten all of it. @param name by tag or digest */
  pull(name: string): Promise<unknown>;
  close(): Promise<unknown>;
}

/** Writes an empty file of logins. Without one the clients use the user's own file, or stop. */
function newAuthFile(folder: string): string {
  const file = join(folder, "auth.json");
  writeFileSync(file, "{}");
  return file;
}

/** Runs a command. @param input never an argument, which every process could read */
function running(
  command: string,
  args: string[],
  input = "",
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: { ...process.env, ...env } });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(output) : reject(new Error(output))));
    child.stdin.end(input);
  });
}

interface Source {
  /** The image's name in docker. */
  image: string;
  /** The image as `docker save` has written it. */
  archive: string;
  /** A folder for the clients' storage; the test removes it. */
  folder: string;
  host: string;
}

const OPENERS: Record<ClientName, (source: Source) => Promise<ImageClient>> = {
  async docker({ image, folder, host }) {
    const docker = (args: string[], input?: string) =>
      running("docker", args, input, { DOCKER_CONFIG: join(folder, "docker") });
    const named = new Set<string>();
    const forget = async () => {
      for (const name of named) await docker(["image", "rm", "--force", name]).catch(() => {});
    };
    return {
      login: (password) => docker(["login", "-u", "any", "--password-stdin", host], password),
      logout: () => docker(["logout", host]),
      async push(name) {
        named.add(name);
        await docker(["tag", image, name]);
        return docker(["push", "--quiet", name]);
      },
      async pull(name) {
        await forget();
        named.add(name);
        return docker(["pull", "--quiet", name]);
      },
      close: forget,
    };
  },

  podman: async (source) => withOwnStore("podman", source),
  buildah: async (source) => withOwnStore("buildah", source),

  async skopeo({ archive, folder, host }) {
    const login = ["--authfile", newAuthFile(folder)];
    const copy = (...args: string[]) =>
      running("skopeo", ["copy", "--insecure-policy", ...login, ...args]);
    let copies = 0;
    return {
      login: (password) =>
        running(
          "skopeo",
          ["login", ...login, "--tls-verify=false", "-u", "any", "--password-stdin", host],
          password,
        ),
      logout: () => running("skopeo", ["logout", ...login, host]),
      push: (name) =>
        copy("--dest-tls-verify=false", `docker-archive:${archive}`, `docker://${name}`),
      pull: (name) =>
        copy(
          "--src-tls-verify=false",
          `docker://${name}`,
          `dir:${join(folder, `copy-${++copies}`)}`,
        ),
      close: async () => {},
    };
  },

  /** `ctr` keeps no logins: they come with each call. */
  async ctr({ archive, folder, host }) {
    const containerd = await Containerd.start(folder);
    const images = (...args: string[]) => containerd.ctr("images", ...args);
    await images("import", archive);
    const [image = ""] = (await images("list", "--quiet")).split("\n");
    const forget = (name: string) => images("remove", "--sync", image, name);
    let user: string[] = [];
    return {
      async login(password) {
        user = ["--user", `any:${password}`];
        // A pull is the only call of `ctr` that uses the login at once.
        return images("pull", "--plain-http", ...user, `${host}/ada/none:latest`);
      },
      async logout() {
        user = [];
      },
      async push(name) {
        await images("import", archive);
        return images("push", "--plain-http", ...user, name, image);
      },
      async pull(name) {
        await forget(name);
        return images("pull", "--plain-http", "--snapshotter", "native", ...user, name);
      },
      close: () => containerd.stop(),
    };
  },
};

async function withOwnStore(
  client: "podman" | "buildah",
  { archive, folder, host }: Source,
): Promise<ImageClient> {
  const call = withStore(client, folder);
  const login = ["--authfile", newAuthFile(folder)];
  const plain = "--tls-verify=false";
  const load = () => call("pull", "--quiet", `docker-archive:${archive}`);
  return {
    login: (password) =>
      running(client, ["login", ...login, plain, "-u", "any", "--password-stdin", host], password),
    logout: () => running(client, ["logout", ...login, host]),
    push: async (name) =>
      call("push", "--quiet", ...login, plain, await load(), `docker://${name}`),
    async pull(name) {
      await call("rmi", "--all", "--force");
      return call("pull", "--quiet", ...login, plain, name);
    },
    close: () => call("rmi", "--all", "--force"),
  };
}

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
      const told = name === "ctr" ? "403" : `Push to ${USERNAME}/${name}, not grace/${name}.`;
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
