import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { credentialsFor } from "../../../runner/src/engines/docker/pull.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "auspex-docker-config-"));
  vi.stubEnv("DOCKER_CONFIG", folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const configure = (content: string) => writeFileSync(join(folder, "config.json"), content);
const auth = (text: string) => ({ auth: Buffer.from(text).toString("base64") });

describe("the credentials of a registry", () => {
  it("credentials are those of docker login, for that registry only", async () => {
    const hub = "https://index.docker.io/v1/";
    const auths = { "registry.test:5000": auth("ada:se:cret"), [hub]: auth("bob:word") };
    configure(JSON.stringify({ auths }));
    expect(await credentialsFor("registry.test:5000/ada/m")).toEqual({
      username: "ada",
      password: "se:cret",
      serveraddress: "registry.test:5000",
    });
    for (const repository of ["hello", "bob/hello", "docker.io/bob/hello"]) {
      expect(await credentialsFor(repository)).toMatchObject({ username: "bob" });
    }
    expect(await credentialsFor("eve.test/m")).toEqual({});
  });

  it("credentials are empty without a login or with a broken file", async () => {
    expect(await credentialsFor("registry.test/m")).toEqual({});
    configure("{");
    expect(await credentialsFor("registry.test/m")).toEqual({});
    configure('{"auths":[]}');
    expect(await credentialsFor("registry.test/m")).toEqual({});
  });
});
