/** A pull that finds the disk full: other images are removed, and the pull is tried once more. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Dockerode from "dockerode";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DiskSpace } from "../../../runner/src/disk/disk-space.ts";
import { ImageRecord, ImageStore } from "../../../runner/src/engines/docker/image-store.ts";
import { ImagePuller, PullRoom } from "../../../runner/src/engines/docker/pull.ts";
import { recordedLog } from "../support/docker-box.ts";
import { FullDocker } from "../support/full-docker.ts";

const GB = 1024 ** 3;
const digest = `sha256:${"a".repeat(64)}`;
const image = (name: string) => ({ repository: `r.test/ada/${name}`, digest });
const nameOf = (name: string) => `r.test/ada/${name}@${digest}`;

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
      expect.stringMatching(/^info removed image .*"why":"an image needs room".*ada\/small@/),
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
