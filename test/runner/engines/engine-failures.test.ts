// Errors of Docker and the system, and the failures that callers see for them.
import { describe, expect, it, test } from "vitest";
import { DockerEngine } from "../../../runner/src/engines/docker/docker-engine.ts";
import { pullFailure, startFailure } from "../../../runner/src/engines/docker/failures.ts";
import { ControlPlaneError, reasonOf } from "../../../runner/src/lib/error.ts";
import { asFailure } from "../../../runner/src/lib/failure.ts";
import { external, internal } from "../../../src/run/failure.ts";
import { recordedLog } from "../support/docker-box.ts";

const GPU =
  '(HTTP code 500) server error - could not select device driver "nvidia" with capabilities: [[gpu]]';
const OCI = "OCI runtime create failed: runc create failed: unable to start container process: ";

test("an engine without Docker says where it looked, and has advice", async () => {
  const engine = new DockerEngine(
    "runner",
    { kind: "docker", socket: "/nowhere.sock" },
    recordedLog(),
  );
  await expect(engine.open(async () => 0)).rejects.toThrow(
    "Docker does not respond at /nowhere.sock: connect ENOENT /nowhere.sock: start Docker, give this user access",
  );
});

describe("a container that cannot be started", () => {
  test.each([
    // Messages of Debian's Docker 20.10 and 28.
    [`${OCI}exec: "serve": executable file not found in $PATH: unknown`, "'serve' cannot be run"],
    [`${OCI}exec: "/run.sh": permission denied: unknown`, "'/run.sh' cannot be run (permission"],
    [`${OCI}exec: "/x": stat /x: no such file or directory: unknown`, "'/x' cannot be run (no"],
    ["(HTTP code 400) bad parameter - No command specified ", "the image has no command"],
    ["unable to find user ada: no matching entries in passwd file", "has no user 'ada'"],
  ])("a start fails for the image's fault: %s", (said, told) => {
    const failure = startFailure(new Error(said));
    expect(failure.source).toBe("external");
    expect(failure.message).toContain(told);
  });

  test("a start fails for GPUs that Docker cannot give", () => {
    for (const said of [
      GPU,
      "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=1",
      'OCI runtime create failed: unable to retrieve OCI runtime error (open /run/log.json: no such file or directory): exec: "nvidia-container-runtime": executable file not found in $PATH: unknown',
      `${OCI}error running hook #0: exit status 1, stdout: , stderr: nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown`,
    ])
      expect(startFailure(new Error(said))).toMatchObject({
        source: "internal",
        message: expect.stringMatching(
          /operator must install the NVIDIA driver and container toolkit/,
        ),
      });
  });

  test("a start fails for a fault of the machine, whose message only goes to the log", () => {
    const error = new Error(
      "(HTTP code 500) server error - open /var/lib/docker/overlay2/ab12/link: no such file",
    );
    const failure = startFailure(error);
    expect(failure).toMatchObject({ source: "internal", cause: error });
    expect(failure.message).not.toContain("/var/lib");
  });
});

test.each([
  `${OCI}exec: "no space left on device": executable file not found in $PATH: unknown`,
  `${OCI}exec: "/a: no space left on device": stat /a: no space left on device: no such file or directory: unknown`,
  `${OCI}exec: "/a:cgroup": stat /a:cgroup: no such file or directory: unknown`,
  `${OCI}exec: "nvidia-container-cli": executable file not found in $PATH: unknown`,
  `${OCI}exec: "a \\"cgroup": executable file not found in $PATH: unknown`,
  `${OCI}chdir to cwd ("/seccomp") set in config.json failed: permission denied: unknown`,
  `${OCI}chdir to cwd ("/nvidia-container-cli") set in config.json failed: permission denied: unknown`,
  `${OCI}chdir to cwd ("/bind source path does not exist") set in config.json failed: permission denied: unknown`,
  `${OCI}error mounting "/var/lib/docker/volumes/1/_data" to rootfs at "/sys/fs/cgroup/x": mkdirat /var/lib/docker/overlay2/1/merged/sys/fs/cgroup/x: read-only file system: unknown`,
  "unable to find user a cgroup: no matching entries in passwd file",
  "unable to find user no space left on device: no matching entries in passwd file",
])("a version cannot make its failure look like the machine's: %s", (said) => {
  const error = Object.assign(new Error(`(HTTP code 500) server error - ${said}`), {
    statusCode: 500,
  });
  expect(startFailure(error).ofMachine).toBe(false);
});

describe("an image that cannot be pulled", () => {
  const elsewhere = { name: "r.test/ada/m@sha256:1", ownHost: undefined };
  const of = (message: string) => pullFailure(elsewhere, new Error(message));

  test.each([
    ["manifest for r.test/ada/m@sha256:1 not found: manifest unknown: ...", "docker push prints"],
    // Docker's own registry answers the same for a repository that was never pushed to.
    [
      "manifest for r.test/ada/m@sha256:1 not found: manifest unknown: ...",
      "with this name and digest",
    ],
    ["no matching manifest for linux/amd64 in the manifest list", "--platform"],
    ["pull access denied for ada/m, repository does not exist or may require", "docker login"],
    ["unauthorized: authentication required", "docker login"],
    ["name unknown: repository name not known to registry", "repository's name"],
  ])("a pull fails for good: %s", (said, told) => {
    const { failure, final } = of(said);
    expect(final).toBe(true);
    expect(failure.source).toBe("external");
    expect(failure.message).toMatch(/^r\.test\/ada\/m@sha256:1 cannot be pulled: /);
    expect(failure.message).toContain(told);
  });

  test.each([
    ['Get "https://r.test/v2/": dial tcp 10.0.0.7:443: connect: connection refused', "log"],
    ["write /var/lib/docker/tmp/GetImageBlob7: no space left on device", "disk"],
  ])("a pull fails for now: %s", (said, told) => {
    const { failure, final, diskFull } = of(said);
    expect(final).toBe(false);
    expect(diskFull).toBe(told === "disk");
    expect(failure.source).toBe("internal");
    expect(failure.message).toContain(told);
    expect(failure.message).not.toMatch(/10\.0\.0\.7|\/var/);
  });
});

describe("an image of the deployment's own that cannot be pulled", () => {
  const own = { name: "ada/m@sha256:1", ownHost: "auspex.test:8787" };
  const of = (message: string) => pullFailure(own, new Error(message));

  test.each([
    ["unauthorized: authentication required", "grant"],
    ["Head https://auspex.test:8787/v2/: denied: The grant has ended.", "Run the prediction again"],
    ["Get https://auspex.test:8787/v2/: http: server gave HTTP response to HTTPS client", "https"],
    [
      "Get https://auspex.test:8787/v2/: http: server gave HTTP response to HTTPS client",
      'add "auspex.test:8787" to "insecure-registries"',
    ],
  ])(
    "a failed pull of an own image is the machine's or the deployment's fault: %s",
    (said, told) => {
      const { failure, final } = of(said);
      expect(final).toBe(true);
      expect(failure.source).toBe("internal");
      expect(failure.message).toMatch(/^ada\/m@sha256:1 cannot be pulled: /);
      expect(failure.message).toContain(told);
      expect(failure.message).not.toContain("docker login");
    },
  );

  test.each([
    "manifest for auspex.test:8787/auspex/models/x@sha256:1 not found: manifest unknown",
    "name unknown: no such model",
  ])("a failed pull of an own image that is gone is its owner's fault: %s", (said) => {
    const { failure, final } = of(said);
    expect(final).toBe(true);
    expect(failure).toMatchObject({
      source: "external",
      message: expect.stringContaining("Push it again"),
    });
  });

  test("a failed pull is tried again when the deployment has too much to do", () => {
    expect(of("toomanyrequests: Too many requests.").final).toBe(false);
  });
});

describe("what may be told of an error", () => {
  it("the reason of an error is the code of a system error, and has nothing of the network", () => {
    const full = Object.assign(new Error("ENOSPC: no space left on device, write '/srv/x'"), {
      code: "ENOSPC",
    });
    expect(reasonOf(full)).toBe("ENOSPC");
    expect(reasonOf(new TypeError("fetch failed", { cause: full }))).toBe("ENOSPC");
    expect(reasonOf(new AggregateError([full]))).toBe("ENOSPC");
    expect(reasonOf(new Error("its stream has no end"))).toBe("its stream has no end");
    expect(reasonOf(new ControlPlaneError("http://10.1.1.1: fetch failed"))).toBe(
      "the service did not respond",
    );
    expect(reasonOf(new ControlPlaneError("HTTP 403", { status: 403 }))).toBe("HTTP 403");
    const docker = Object.assign(new Error("(HTTP code 500) /var/lib/docker"), { statusCode: 500 });
    expect(reasonOf(docker)).toBe("Docker responded with 500");
  });

  it("an error goes to the log whole, once", () => {
    const log = recordedLog();
    const cause = new Error("open /var/lib/docker/x");
    const failure = internal("the container cannot be started", { cause });
    for (const _ of "ab") expect(asFailure(failure, log)).toBe(failure);
    expect(log.lines).toEqual([
      expect.stringMatching(/^warn a run failed .*the container cannot .*open \/var\/lib/),
    ]);
    asFailure(external("input.a: too large", { cause: external("too large") }), log);
    expect(log.lines).toHaveLength(1);
  });
});

describe("a start goes to another machine", () => {
  const docker = (statusCode: number, said: string) =>
    Object.assign(new Error(`(HTTP code ${statusCode}) server error - ${said}`), { statusCode });

  test.each([
    [docker(500, "mkdir /var/lib/docker/overlay2/ab: no space left on device"), "disk"],
    [docker(500, `${OCI}mkdir /run/x: no space left on device: unknown`), "disk"],
    [docker(500, "open /var/lib/docker/x: read-only file system"), "EROFS"],
    [docker(500, "write /var/lib/docker/x: input/output error"), "EIO"],
    [docker(500, "driver failed programming external connectivity on endpoint x"), "refuses"],
    [docker(403, "authorization denied by plugin policy"), "refuses"],
    [docker(500, `${OCI}cgroups: cgroup mountpoint does not exist: unknown`), "refuses"],
    [new Error(GPU), "NVIDIA driver"],
    [Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }), "not respond"],
    [Object.assign(new Error("write"), { code: "ENOSPC" }), "disk"],
  ])("a start goes to another machine if this one is at fault: %s", (error, told) => {
    expect(startFailure(error)).toMatchObject({
      source: "internal",
      ofMachine: true,
      message: expect.stringContaining(told),
    });
  });

  test.each([
    docker(400, "invalid mount config"),
    docker(400, `${OCI}exec: "serve": executable file not found in $PATH: unknown`),
    docker(500, `${OCI}chdir to cwd ("/nowhere") set in config.json failed: not a directory`),
    docker(500, `${OCI}nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0`),
  ])("a start does not go to another machine if the image is at fault: %s", (error) => {
    expect(startFailure(error).ofMachine).toBe(false);
  });

  test("a start goes elsewhere if the machine cannot read the deployment's registry, or its disk is full", () => {
    const said = new Error("dial tcp 10.0.0.7:443: connect: connection refused");
    const full = new Error("write /var/lib/docker/tmp/GetImageBlob7: no space left on device");
    const own = { name: "ada/m@sha256:1", ownHost: "auspex.test" };
    const elsewhere = { name: "r.test/ada/m@sha256:1", ownHost: undefined };
    expect(pullFailure(own, said).failure.ofMachine).toBe(true);
    expect(pullFailure(elsewhere, said).failure.ofMachine).toBe(false);
    expect(pullFailure(elsewhere, full).failure.ofMachine).toBe(true);
  });

  test.each([
    "write /var/lib/docker/tmp/GetImageBlob7: no space left on device",
    "failed to register layer: write /usr/lib/x.so: no space left on device",
    "failed to register layer: Error processing tar file(exit status 1): write /x: no space left on device",
    "failed to register layer: ApplyLayer exit status 1 stdout:  stderr: write /denied: no space left on device",
    "failed to extract layer sha256:ab12: mount callback failed on /tmp/containerd-mount7: write /x: no space left on device: unknown",
    "failed to copy: write /var/lib/containerd/ingest/ab/data: no space left on device",
  ])("a start goes to another machine if Docker itself says that the disk is full: %s", (said) => {
    const { failure, diskFull } = pullFailure(
      { name: "r.test/m@sha256:1", ownHost: undefined },
      new Error(said),
    );
    expect([failure.ofMachine, diskFull]).toEqual([true, true]);
  });

  test.each([
    "unknown: no space left on device",
    "unknown: write /var/lib/docker/tmp/GetImageBlob7: no space left on device",
    "toomanyrequests: failed to register layer: write /x: no space left on device",
    "errors:\nunknown: a\nwrite /x: no space left on device",
    "received unexpected HTTP status: 500 write /x: no space left on device",
    "failed to resolve reference: unexpected status from HEAD request to https://r.test/v2/m: 500 a: write /x: no space left on device",
    "failed to copy: httpReadSeeker: failed open: unexpected status code https://r.test/v2/m: 500 a: write /x: no space left on device",
    'Get "https://r.test/v2/": write /x: no space left on device',
    "no space left on device",
  ])(
    "a start does not go to another machine if a registry says that the disk is full: %s",
    (said) => {
      for (const ownHost of [undefined, "auspex.test"]) {
        const { failure, diskFull } = pullFailure({ name: "m", ownHost }, new Error(said));
        expect(diskFull).toBe(false);
        expect(failure.message).not.toContain("disk");
        if (ownHost === undefined) expect(failure.ofMachine).toBe(false);
      }
    },
  );

  test("a start goes to another machine if a system error says that a resource is exhausted", () => {
    const error = Object.assign(new Error("open"), { code: "EMFILE" });
    expect(asFailure(error, recordedLog())).toMatchObject({ ofMachine: true });
    expect(asFailure(new Error("a defect"), recordedLog())).toMatchObject({ ofMachine: false });
  });
});
