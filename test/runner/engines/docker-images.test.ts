/** The record of a runner's own images when a pull does not end normally. */
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Dockerode from "dockerode";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DockerImages } from "../../../runner/src/engines/docker/images.ts";
import { dockerInfo } from "../../../runner/src/engines/docker/info.ts";
import { silent } from "../support/containers.ts";
import { FullDocker } from "../support/full-docker.ts";

const digest = `sha256:${"a".repeat(64)}`;
const nameOf = (name: string) => `r.test/ada/${name}@${digest}`;
const INFO = { ServerVersion: "20.10.24", Driver: "overlay2", NCPU: 1, MemTotal: 1 };
/** More bytes than any disk has. */
const NEVER_ENOUGH = 2 ** 60;

describe("a pull", () => {
  let folder: string;
  let docker: FullDocker;
  let state: string;
  let opened: DockerImages[];

  /** Opens the images like a runner that starts with this state folder. */
  async function open(state: string, free_bytes = 0): Promise<DockerImages> {
    const images = new DockerImages({
      docker: new Dockerode({ socketPath: docker.socket }),
      runner: "test",
      engine: { kind: "docker", state, free_bytes },
      others: [],
      watchIntervalMs: 5,
      log: silent,
    });
    await images.open(dockerInfo.parse({ ...INFO, DockerRootDir: folder }));
    opened.push(images);
    return images;
  }

  const pull = (images: DockerImages, name: string, signal = new AbortController().signal) => {
    const model = { owner: "ada", name };
    const image = { repository: `r.test/ada/${name}`, digest };
    return images.pull({ image, model }, () => {}, signal);
  };
  const noted = () => Object.keys(JSON.parse(readFileSync(join(state, "images.json"), "utf8")));

  beforeEach(async () => {
    opened = [];
    folder = mkdtempSync(join(tmpdir(), "auspex-images-"));
    state = join(folder, "state");
    docker = await FullDocker.start(folder, 10, { [nameOf("small")]: 4, [nameOf("large")]: 11 });
  });

  afterEach(() => {
    for (const images of opened) images.close();
    docker.stop();
    rmSync(folder, { recursive: true });
  });

  it("a pull whose runner dies after it leaves an image that is removed when there is no room", async () => {
    const died = join(folder, "died");
    docker.onPulled = () => cpSync(state, died, { recursive: true });
    await pull(await open(state), "small");
    expect(docker.images.has(nameOf("small"))).toBe(true);
    await open(died, NEVER_ENOUGH);
    await expect.poll(() => docker.images.has(nameOf("small"))).toBe(false);
  });

  it("a pull that brings no image is forgotten, so that a later image is not the runner's own", async () => {
    const images = await open(state);
    await expect(pull(images, "large")).rejects.toThrow("disk of the runner's machine is full");
    expect(noted()).toEqual([]);
  });

  it("a pull that is given up when Docker has the image is recorded", async () => {
    const images = await open(state);
    const stop = new AbortController();
    docker.onPulled = () => stop.abort(new Error("stopped"));
    await expect(pull(images, "small", stop.signal)).rejects.toThrow("stopped");
    expect(noted()).toEqual([nameOf("small")]);
  });

  it("a pull that is given up stays recorded while another one goes on with the image", async () => {
    const images = await open(state);
    const stop = new AbortController();
    const [both, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    docker.onPulled = () => {
      docker.images.clear();
      if (docker.pulls === 2) both.resolve();
      return goOn.promise;
    };
    const [one, other] = [pull(images, "small", stop.signal), pull(images, "small")];
    await both.promise;
    stop.abort(new Error("stopped"));
    await expect(one).rejects.toThrow("stopped");
    expect(noted()).toEqual([nameOf("small")]);
    docker.images.set(nameOf("small"), 4);
    goOn.resolve();
    expect(await other).toBe(4);
  });
});
