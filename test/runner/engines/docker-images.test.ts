/** The record of a runner's own images when a pull does not end normally. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Dockerode from "dockerode";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DiskSpace } from "../../../runner/src/disk/disk-space.ts";
import { ImageRecord, ImageStore } from "../../../runner/src/engines/docker/image-store.ts";
import { DockerImages } from "../../../runner/src/engines/docker/images.ts";
import { dockerInfo } from "../../../runner/src/engines/docker/info.ts";
import { credentialsFor, ImagePuller, PullRoom } from "../../../runner/src/engines/docker/pull.ts";
import { silent } from "../support/containers.ts";
import { recordedLog } from "../support/docker-box.ts";
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

  it("a pull adds the size of its image to that of all, beside the use of the disk", async () => {
    const images = await open(state);
    expect(await images.bytes()).toBe(0);
    await pull(images, "small");
    expect(await images.bytes()).toBe(4);
    const { free, total } = await images.disk();
    expect(total).toBeGreaterThan(free);
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

describe("the credentials of a registry", () => {
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

const GB = 1024 ** 3;
const image = (name: string) => ({ repository: `r.test/ada/${name}`, digest });

describe("a pull that finds the disk full", () => {
  let folder: string;
  let docker: FullDocker;
  let puller: ImagePuller;
  let store: ImageStore;
  let log: ReturnType<typeof recordedLog>;

  const pull = (name: string) => {
    const model = { owner: "ada", name };
    return puller.pull({ image: image(name), model }, () => {}, new AbortController().signal);
  };

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "auspex-full-"));
    const sizes = { small: 4 * GB, large: 8 * GB, "too-large": 11 * GB };
    const named = Object.entries(sizes).map(([name, size]) => [nameOf(name), size]);
    docker = await FullDocker.start(folder, 10 * GB, Object.fromEntries(named));
    log = recordedLog();
    const client = new Dockerode({ socketPath: docker.socket });
    const record = new ImageRecord(join(folder, "state"));
    await record.open();
    store = new ImageStore({ docker: client, folder, record, runner: "test", log });
    const usage = async () => ({ free: docker.free, total: 10 * GB });
    const disk = new DiskSpace({ usage, keptFree: 1, log });
    disk.add(store);
    const room = new PullRoom(client, disk, log);
    puller = new ImagePuller({
      docker: client,
      runner: "test",
      registry: undefined,
      room,
      dropsLayers: true,
      log,
    });
  });

  afterEach(() => {
    docker.stop();
    rmSync(folder, { recursive: true });
  });

  it("the pull is tried once more after unused images were removed", async () => {
    docker.images.set(nameOf("small"), 4 * GB);
    await store.pulling(nameOf("small"));
    await pull("large");
    expect([...docker.images.keys()]).toEqual([nameOf("large")]);
    expect(docker.pulls).toBe(2);
    expect(log.lines).toEqual([
      expect.stringMatching(/^info removed image .*"why":"space needed for an image".*ada\/small@/),
    ]);
  });

  it("the pull fails when an image is larger than the disk, which is no fault of the machine", async () => {
    docker.images.set(nameOf("small"), 4 * GB);
    await store.pulling(nameOf("small"));
    await expect(pull("too-large")).rejects.toMatchObject({
      source: "internal",
      ofMachine: false,
      message: expect.stringContaining("it does not fit on the disk of the runner's machine"),
    });
    expect(docker.pulls).toBe(2);
  });

  it("the pull fails at once when no image may be removed", async () => {
    docker.images.set(nameOf("small"), 4 * GB);
    await expect(pull("large")).rejects.toMatchObject({
      ofMachine: true,
      message: expect.stringContaining("the disk of the runner's machine is full"),
    });
    docker.images.set(nameOf("small"), 4 * GB);
    await store.pulling(nameOf("small"));
    // A job holds the image because it is about to start with it.
    const release = await store.hold(nameOf("small"));
    await expect(pull("large")).rejects.toThrow("the disk of the runner's machine is full");
    expect(docker.pulls).toBe(2);
    release();
    await pull("large");
    expect([...docker.images.keys()]).toEqual([nameOf("large")]);
  });
});
