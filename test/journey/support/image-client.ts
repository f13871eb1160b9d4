/** Real clients of registries, each with its own logins and storage, as people use them with a deployment. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Containerd, withStore } from "../../cli/support/clients.ts";

export const CLIENTS = ["docker", "podman", "skopeo", "buildah", "ctr"] as const;
export type ClientName = (typeof CLIENTS)[number];

export interface ImageClient {
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
export function running(
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

export const OPENERS: Record<ClientName, (source: Source) => Promise<ImageClient>> = {
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
