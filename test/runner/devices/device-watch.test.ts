/** Detection of GPUs that fail and come back, and its log lines. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Device } from "../../../runner/src/devices/device.ts";
import { DeviceWatch } from "../../../runner/src/devices/device-watch.ts";
import { Ledger } from "../../../runner/src/devices/ledger.ts";
import { recordedLog } from "../support/docker-box.ts";

const gpu = (n: number): Device => ({
  id: `GPU-${n}`,
  index: String(n),
  name: "NVIDIA L40S",
  memory_gb: 45,
});

let list: () => Promise<Device[]>;
let listings: number;
let changes: number;
let log: ReturnType<typeof recordedLog>;
let ledger: Ledger;
let watch: DeviceWatch;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  [listings, changes] = [0, 0];
  log = recordedLog();
  ledger = new Ledger({ containers: 2 });
  list = async () => [gpu(0), gpu(1)];
  const source = {
    list: () => {
      listings += 1;
      return list();
    },
  };
  watch = new DeviceWatch(source, ledger, log, () => {
    changes += 1;
  });
  await watch.start();
});
afterEach(() => {
  watch.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const lost = () => ledger.devices().map((one) => one.lost ?? false);
const minute = () => vi.advanceTimersByTimeAsync(61_000);

it("the watch looks every minute, and logs which GPUs are lost and back", async () => {
  expect(log.lines.map((line) => line.slice(0, 30))).toEqual([
    'info GPU {"id":"GPU-0","name":',
    'info GPU {"id":"GPU-1","name":',
  ]);
  await minute();
  expect([listings, changes]).toEqual([2, 1]);
  list = async () => [{ ...gpu(0), fault: "GPU is lost" }];
  await minute();
  expect(lost()).toEqual([true, true]);
  expect(log.lines.slice(2)).toEqual([
    expect.stringMatching(/^error GPU lost: it is not used .*GPU-0.*"why":"GPU is lost".*Xid/),
    expect.stringMatching(/^error GPU lost: it is not used .*GPU-1.*nvidia-smi no longer lists it/),
  ]);
  list = async () => [gpu(0), gpu(1)];
  await minute();
  expect(lost()).toEqual([false, false]);
  expect(log.lines.slice(4)).toEqual([
    expect.stringMatching(/^info GPU back: it is used again .*GPU-0/),
    expect.stringMatching(/^info GPU back: it is used again .*GPU-1/),
  ]);
  expect(changes).toBe(3);
});

it("the watch takes all GPUs for lost when the driver does not answer", async () => {
  list = () => Promise.reject(new Error("nvidia-smi does not respond"));
  await minute();
  expect(lost()).toEqual([true, true]);
  expect(log.lines.at(-1)).toMatch(/^error GPU lost.*GPU-1.*nvidia-smi does not respond/);
  // The log line comes only once.
  const { length } = log.lines;
  await minute();
  expect(log.lines).toHaveLength(length);
});

it("the watch looks once for all callers within seconds", async () => {
  await watch.check();
  expect(listings).toBe(1);
  await vi.advanceTimersByTimeAsync(6_000);
  await Promise.all([watch.check(), watch.check(), watch.check()]);
  expect(listings).toBe(2);
});
