/**
 * Reads what `docker login` has stored for a registry, which Docker's command line reads but its
 * socket does not. Credential helpers are not supported.
 */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type Dockerode from "dockerode";
import { z } from "zod";

const HUB = "https://index.docker.io/v1/";

const configuration = z.object({
  auths: z.record(z.string(), z.object({ auth: z.string().optional() })).default({}),
});

export async function credentialsFor(repository: string): Promise<Dockerode.AuthConfigObject> {
  const folder = process.env.DOCKER_CONFIG ?? join(homedir(), ".docker");
  const text = await readFile(join(folder, "config.json"), "utf8").catch(() => "{}");
  const { auths } = configuration.catch({ auths: {} }).parse(parse(text));
  const registry = registryOf(repository);
  const encoded = auths[registry]?.auth ?? auths[`https://${registry}`]?.auth;
  if (!encoded) return {};
  const [username = "", ...rest] = Buffer.from(encoded, "base64").toString().split(":");
  return { username, password: rest.join(":"), serveraddress: registry };
}

/** The first part is a registry if it looks like a host; otherwise the image is on Docker Hub. */
function registryOf(repository: string): string {
  const [first = "", ...rest] = repository.split("/");
  if (rest.length === 0 || first === "docker.io") return HUB;
  return /[.:]/.test(first) || first === "localhost" ? first : HUB;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
