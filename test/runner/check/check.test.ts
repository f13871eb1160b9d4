import { afterEach, beforeEach, expect, test } from "vitest";
import {
  assertNode,
  checkClock,
  checkControlPlane,
  checkNode,
  formatFindings,
} from "../../../runner/src/check/check.ts";
import { checkToolkit } from "../../../runner/src/check/docker.ts";
import { checkGpus } from "../../../runner/src/check/gpus.ts";
import { parseGpus, readLoad, readMachine } from "../../../runner/src/check/hardware.ts";
import { type Device, type DeviceSource, PretendGpus } from "../../../runner/src/devices/device.ts";
import { dockerInfo } from "../../../runner/src/engines/docker/info.ts";
import { machine, telemetryRequest } from "../../../src/protocol/runner.ts";
import { FakeControlPlane } from "../support/fake-control-plane.ts";

let plane: FakeControlPlane;
beforeEach(async () => {
  plane = await FakeControlPlane.start();
});
afterEach(() => plane.stop());

const CLASS = { identifier: "l40s", name: "NVIDIA L40S", pool: "l40s", gpus: 2 };

const gpusOf = (count: number, memory_gb = 45): Device[] =>
  Array.from({ length: count }, (_, n) => {
    return { id: `GPU-${n}`, index: String(n), name: "NVIDIA L40S", memory_gb };
  });

async function look(status: number, body: object = {}, gpus = gpusOf(2)) {
  plane.endpoints.set("/v1/runner/hardware/l40s", () => ({ status, body }));
  const config = { url: plane.url, token: "ausr_x", hardware: ["l40s"] };
  return Object.fromEntries(
    (await checkControlPlane(config, gpus)).map(({ name, ...finding }) => [name, finding]),
  );
}

const ok = { ok: true };
const problem = (status: number, detail: string) => {
  return { type: "urn:auspex:problem", title: "Problem", status, detail, request_id: "r" };
};

test("the check explains each answer of the control plane", async () => {
  const all = { "control plane": ok, token: ok, hardware: ok, clock: ok };
  expect(await look(200, CLASS)).toMatchObject(all);
  const unknown = await look(401, problem(401, "The runner token is unknown."));
  expect(unknown).toMatchObject({ "control plane": ok, token: { ok: false }, clock: ok });
  expect(unknown).not.toHaveProperty("hardware");
  const broken = await look(503);
  expect(broken).toMatchObject({ "control plane": { ok: false } });
  // The control plane said nothing about the token.
  expect(broken).not.toHaveProperty("token");
});

test.each([200, 302, 404])(
  "a check of an address that is no deployment and answers %i fails",
  async (status) => {
    const headers = { "content-type": "text/html" };
    plane.endpoints.set("/v1/runner/hardware/l40s", () => ({ status, body: {}, headers }));
    const config = { url: plane.url, token: "ausr_x", hardware: ["l40s"] };
    const findings = await checkControlPlane(config, []);
    expect(findings[0]).toMatchObject({
      ok: false,
      detail: expect.stringContaining("is not an Auspex deployment"),
    });
    expect(findings.map(({ name }) => name)).toEqual(["control plane", "clock"]);
  },
);

test("a check with a class that the token does not serve, or that does not exist, fails", async () => {
  const detail = "This runner token is for box, not for 'l40s'.";
  expect(await look(403, problem(403, detail))).toMatchObject({
    token: ok,
    hardware: { ok: false, detail, advice: expect.stringContaining("--hardware") },
  });
  expect(await look(404, problem(404, "The hardware 'l40s' does not exist."))).toMatchObject({
    "control plane": ok,
    hardware: { ok: false, advice: expect.stringContaining("/fleet/hardware") },
  });
});

test("a check of a machine with other GPUs than its class warns", async () => {
  const few = async (gpus: Device[], of: object = CLASS) => (await look(200, of, gpus)).hardware;
  expect(await few([])).toMatchObject({
    ok: true,
    detail: "containers of l40s get 2 GPUs, and this machine has none",
    advice:
      "its predictions would be queued for a larger machine: use another class (--hardware), or fix the gpu problem above",
  });
  expect((await few(gpusOf(1)))?.advice).toBeDefined();
  expect(await few(gpusOf(8))).toEqual({ ok: true, detail: "l40s, NVIDIA L40S" });
  // This class promises 48 GB.
  const memory = { ...CLASS, ram_per_gpu_gb: 48 };
  expect(await few(gpusOf(2), memory)).toEqual({ ok: true, detail: "l40s, NVIDIA L40S" });
  expect(await few([...gpusOf(1), ...gpusOf(1, 24)], memory)).toMatchObject({
    ok: true,
    detail: expect.stringContaining("of this machine's 1 GPU less: 0: NVIDIA L40S, 24 GB (GPU-0)"),
    advice: expect.stringContaining("--gpu-devices"),
  });
  // The memory of pretended GPUs says nothing about the class.
  expect((await few(await new PretendGpus(2).list(), memory))?.advice).toBeUndefined();
  // Some drivers do not report the memory.
  expect((await few(gpusOf(2, 0), memory))?.advice).toBeUndefined();
  expect(await few(gpusOf(8), { ...CLASS, gpus: 0 })).toMatchObject({
    ok: true,
    detail: "containers of l40s get no GPU: 8 GPUs of this machine would not be used",
    advice: expect.stringContaining("/fleet/hardware"),
  });
});

test("the check lists the GPUs and their faults", async () => {
  const lists = (list: DeviceSource["list"]) => checkGpus({ list });
  expect(await lists(async () => gpusOf(2))).toEqual({
    usable: gpusOf(2),
    finding: {
      ok: true,
      name: "gpu",
      detail: "0: NVIDIA L40S, 45 GB (GPU-0); 1: NVIDIA L40S, 45 GB (GPU-1)",
    },
  });
  expect(await lists(async () => [])).toMatchObject({ finding: { ok: true, detail: "none" } });
  const [good, bad] = gpusOf(2);
  if (!good || !bad) throw new Error("two");
  expect(await lists(async () => [good, { ...bad, fault: "GPU is lost" }])).toMatchObject({
    usable: [good],
    finding: { ok: false, detail: expect.stringContaining("1: NVIDIA L40S, GPU is lost (GPU-1)") },
  });
  const silent = lists(() => Promise.reject(new Error("nvidia-smi does not respond")));
  expect(await silent).toMatchObject({
    usable: [],
    finding: { ok: false, detail: "nvidia-smi does not respond" },
  });
});

test("the check says how Docker gives containers their GPUs", () => {
  const docker = {
    ServerVersion: "28.3",
    Driver: "overlay2",
    DockerRootDir: "/",
    NCPU: 1,
    MemTotal: 1,
  };
  const toolkit = (more: object, gpus = gpusOf(1)) =>
    checkToolkit(dockerInfo.parse({ ...docker, ...more }), gpus);
  expect(toolkit({}, [])).toMatchObject({ ok: true, detail: "not needed without GPUs" });
  expect(toolkit({})).toMatchObject({ ok: false, advice: expect.stringContaining("nvidia-ctk") });
  const Runtimes = { nvidia: {} };
  expect(toolkit({ Runtimes, CgroupDriver: "cgroupfs" }).advice).toBeUndefined();
  expect(toolkit({ Runtimes, CgroupDriver: "systemd" })).toMatchObject({
    ok: true,
    detail: expect.stringContaining("running containers lose their GPUs"),
    advice: expect.stringContaining("native.cgroupdriver=cgroupfs"),
  });
  const DiscoveredDevices = [{ Source: "cdi", ID: "nvidia.com/gpu=0" }];
  expect(toolkit({ Runtimes, CgroupDriver: "systemd", DiscoveredDevices })).toEqual({
    ok: true,
    name: "nvidia container toolkit",
    detail: "Docker provides GPUs through CDI",
  });
});

test("the check covers each class of a machine, and all must be of one pool", async () => {
  const config = { url: plane.url, token: "ausr_x", hardware: ["l40s", "l40s-x4"] };
  const answer = (identifier: string, pool: string, gpus: number) =>
    plane.endpoints.set(`/v1/runner/hardware/${identifier}`, () => ({
      status: 200,
      body: { identifier, name: identifier, pool, gpus },
    }));
  const found = async () =>
    (await checkControlPlane(config, gpusOf(4))).map(({ ok, name, detail }) => [ok, name, detail]);
  answer("l40s", "l40s", 1);
  answer("l40s-x4", "l40s", 4);
  expect((await found()).map(([, name]) => name)).toEqual([
    "control plane",
    "token",
    "hardware",
    "clock",
    "hardware",
  ]);
  answer("l40s-x4", "other", 4);
  expect((await found()).at(-1)).toEqual([
    false,
    "hardware",
    "l40s is in the pool l40s, l40s-x4 is in the pool other",
  ]);
});

test("a check without a reachable control plane fails", async () => {
  const config = { url: "http://127.0.0.1:2", token: "ausr_x", hardware: ["l40s"] };
  const [finding] = await checkControlPlane(config, []);
  expect(finding).toMatchObject({ ok: false, detail: expect.stringContaining("ECONNREFUSED") });
  expect(JSON.stringify(finding)).not.toContain("ausr_x");
});

test("a clock that is off by more than five seconds causes a warning", () => {
  const date = "Fri, 20 Nov 2026 12:00:00 GMT";
  const now = Date.parse(date);
  expect(checkClock(date, now + 1_500)).toEqual({ ok: true, name: "clock", detail: "1.0 s ahead" });
  expect(checkClock(date, now - 9_500)).toMatchObject({ ok: true, detail: "10.0 s behind" });
  expect(checkClock(date, now - 9_500).advice).toBeDefined();
  expect(checkClock(undefined, now).ok).toBe(true);
});

test("the check tests the version of Node", () => {
  expect(checkNode("24.1.0").ok).toBe(true);
  expect(checkNode("20.19.0")).toMatchObject({ ok: false, advice: "install Node.js 22 or later" });
  expect(() => assertNode("24.1.0")).not.toThrow();
  expect(() => assertNode("20.19.0")).toThrow(
    "Node.js 20.19.0 is too old: install Node.js 22 or later",
  );
});

test("the check is printed for people", () => {
  expect(
    formatFindings([
      { ok: true, name: "node", detail: "24.1.0" },
      { ok: true, name: "clock", detail: "9.0 s ahead", advice: "set it" },
      { ok: false, name: "gpu", detail: "gone", advice: "look for it" },
    ]),
  ).toBe(
    [
      "ok    node   24.1.0",
      "warn  clock  9.0 s ahead",
      "             -> set it",
      "BAD   gpu    gone",
      "             -> look for it",
    ].join("\n"),
  );
});

test("GPUs are parsed from the list of nvidia-smi", () => {
  const csv = "NVIDIA GeForce RTX 4090, 24564\nNVIDIA H100 80GB HBM3, 81559\n\n";
  expect(parseGpus(csv)).toEqual([
    { name: "NVIDIA GeForce RTX 4090", memory_gb: 24 },
    { name: "NVIDIA H100 80GB HBM3", memory_gb: 79.6 },
  ]);
});

test("values that a card does not report are read as 0", () => {
  expect(parseGpus("")).toEqual([]);
  expect(parseGpus("NVIDIA GB10, [N/A]")).toEqual([{ name: "NVIDIA GB10", memory_gb: 0 }]);
});

test("the description of this machine fits the protocol", async () => {
  const pretended = await readMachine(await new PretendGpus(2).list());
  // A machine with GPUs shows these instead of the pretended ones.
  expect(machine.parse(pretended).gpus.length).toBeGreaterThan(0);
  expect(machine.safeParse(await readMachine()).error).toBeUndefined();
  expect(
    telemetryRequest.shape.load.safeParse(readLoad([{ utilization: 1 }, {}])).error,
  ).toBeUndefined();
});
