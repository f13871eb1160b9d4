/** Shares of a machine that containers hold: each GPU once, and never more than the machine has. */
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { Device } from "../../../runner/src/devices/device.ts";
import { type Lease, Ledger } from "../../../runner/src/devices/ledger.ts";
import type { ShareSettings } from "../../../runner/src/devices/share.ts";

const GB = 1024 ** 3;
const MACHINE = { memory_bytes: 512 * GB, cpus: 64 };

const devicesOf = (count: number): Device[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `GPU-${n}`,
    index: String(n),
    name: "NVIDIA L40S",
    memory_gb: 45,
  }));

const ofGpus = (gpus: number) => ({ identifier: `x${gpus}`, gpus });

function ledgerOf(gpus: number, settings: Partial<ShareSettings> = {}) {
  const ledger = new Ledger({ containers: Math.max(gpus, 1), ...settings });
  ledger.machine = MACHINE;
  ledger.see(devicesOf(gpus));
  return ledger;
}

const idsOf = (lease: Lease | undefined) => lease?.gpus.map(({ id }) => id);

describe("a lease", () => {
  it("a lease has the GPUs of its class, and its share of memory, processors and shared memory", () => {
    const ledger = ledgerOf(8);
    const one = ledger.lease("a", ofGpus(1));
    expect(idsOf(one)).toEqual(["GPU-0"]);
    const memory_bytes = Math.floor((512 * GB * 0.9) / 8);
    expect(one).toMatchObject({ memory_bytes, cpus: 8, shm_bytes: Math.floor(memory_bytes / 2) });
    const four = ledger.lease("b", ofGpus(4));
    expect(idsOf(four)).toEqual(["GPU-1", "GPU-2", "GPU-3", "GPU-4"]);
    expect(four?.memory_bytes).toBe(Math.floor((512 * GB * 0.9) / 2));
    expect(ledger.devices().map(({ holder }) => holder)).toEqual([
      "a",
      "b",
      "b",
      "b",
      "b",
      null,
      null,
      null,
    ]);
  });

  it("a lease without GPUs has an equal share, and a gigabyte of shared memory", () => {
    const lease = ledgerOf(0, { containers: 4 }).lease("a", ofGpus(0));
    const memory_bytes = Math.floor((512 * GB * 0.9) / 4);
    expect(lease).toMatchObject({ gpus: [], memory_bytes, cpus: 16, shm_bytes: GB });
  });

  it("a lease has the values that the operator sets", () => {
    const said = { memory_bytes: 100 * GB, cpus: 0, shm_bytes: 2 * GB };
    const ledger = ledgerOf(2, { containers: 9, ...said });
    expect(ledger.lease("a", ofGpus(1))).toMatchObject(said);
    // Leases fit while their memory fits: without a share of the processors they do not wait for one.
    for (const holder of ["b", "c", "d", "e"])
      expect(ledger.lease(holder, ofGpus(0))).toMatchObject(said);
    expect(ledger.lease("f", ofGpus(0))).toBeUndefined();
  });

  it("a lease beyond the machine is refused", () => {
    const ledger = ledgerOf(2, { containers: 4 });
    const wide = ledger.lease("a", ofGpus(2));
    // The lease with all GPUs has the whole machine.
    expect(ledger.lease("b", ofGpus(0))).toBeUndefined();
    wide?.release();
    wide?.release();
    for (const holder of ["b", "c", "d", "e"])
      expect(ledger.lease(holder, ofGpus(0))).toBeDefined();
    expect(ledger.lease("f", ofGpus(0))).toBeUndefined();
  });

  it("a lease leaves the jobs ahead what they need, and takes the rest", () => {
    const ledger = ledgerOf(4, { containers: 100 });
    const first = ledger.lease("a", ofGpus(2));
    // The class of four GPUs cannot be placed and keeps the free ones; a class without GPUs can use nothing
    // of it.
    expect(ledger.fits(ofGpus(1), [ofGpus(4)])).toBe(false);
    expect(ledger.fits(ofGpus(1), [ofGpus(1)])).toBe(true);
    expect(ledger.fits(ofGpus(1), [ofGpus(9)])).toBe(true);
    expect(ledger.fits(ofGpus(4))).toBe(false);
    expect(ledger.fits(ofGpus(4), [], first && [first])).toBe(true);
  });
});

describe("a class", () => {
  it("a class that needs more GPUs than the machine has cannot be placed", () => {
    expect(ledgerOf(2).problem(ofGpus(2))).toBeUndefined();
    expect(ledgerOf(2).problem(ofGpus(4))).toBe(
      "containers of x4 get 4 GPUs, and this runner's machine has 2. The operator can run auspex-runner check",
    );
    expect(ledgerOf(0).problem(ofGpus(1))).toContain("get 1 GPU, and this runner's machine has 0");
  });

  it("a class that needs more memory than the machine has cannot be placed", () => {
    const ledger = ledgerOf(0, { containers: 2, memory_bytes: 513 * GB });
    expect(ledger.problem(ofGpus(0))).toContain("lower --memory-gb");
    expect(ledger.lease("a", ofGpus(0))).toBeUndefined();
  });
});

test("GPUs that are gone or have a fault are lost until the driver lists them again", () => {
  const ledger = ledgerOf(3);
  const [zero, one, two] = devicesOf(3);
  if (!zero || !one || !two) throw new Error("three");
  const held = ledger.lease("a", ofGpus(1));
  const faulty = { ...one, fault: "GPU is lost" };
  const changes = ledger.see([faulty, two]);
  expect(changes).toEqual({ added: [], back: [], lost: [zero, faulty] });
  expect(ledger.devices().map(({ lost, holder }) => [lost, holder])).toEqual([
    [true, "a"],
    [true, null],
    [undefined, null],
  ]);
  expect(ledger.problem(ofGpus(2))).toContain("has 3, of which 2 failed");
  expect(ledger.see([faulty, two])).toEqual({ added: [], back: [], lost: [] });
  // The lost GPU that is held does not count twice.
  const last = ledger.lease("b", ofGpus(1));
  expect(idsOf(last)).toEqual(["GPU-2"]);
  held?.release();
  expect(ledger.lease("c", ofGpus(1))).toBeUndefined();
  expect(ledger.see(devicesOf(4))).toMatchObject({ added: [{ id: "GPU-3" }], back: [zero, one] });
  expect(idsOf(ledger.lease("d", ofGpus(2)))).toEqual(["GPU-0", "GPU-1"]);
});

test("no GPU is leased twice, sums stay within the machine, and released shares are free again", () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ lease: fc.nat(5) }) },
    { weight: 3, arbitrary: fc.record({ release: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ listed: fc.subarray([0, 1, 2, 3, 4, 5, 6, 7]) }) },
  );
  const settings = fc.record({
    containers: fc.integer({ min: 1, max: 12 }),
    memory_bytes: fc.option(fc.integer({ min: GB, max: 300 * GB }), { nil: undefined }),
    cpus: fc.option(fc.double({ min: 0.01, max: 64, noNaN: true }), { nil: undefined }),
  });
  const property = fc.property(
    fc.integer({ min: 0, max: 8 }),
    settings,
    fc.array(step, { maxLength: 60 }),
    (gpus, chosen, steps) => {
      const ledger = ledgerOf(gpus, chosen);
      const all = devicesOf(gpus);
      const leases: Lease[] = [];
      for (const action of steps) {
        if ("listed" in action) ledger.see(all.filter((_, n) => action.listed.includes(n)));
        else if ("release" in action) leases.splice(action.release % 7, 1)[0]?.release();
        else {
          const hardware = ofGpus(action.lease);
          const fits = ledger.fits(hardware);
          const lease = ledger.lease("x", hardware);
          expect(lease !== undefined).toBe(fits);
          if (lease) {
            expect(lease.gpus).toHaveLength(action.lease);
            expect(lease.gpus.some((one) => ledger.isLost(one))).toBe(false);
            leases.push(lease);
          }
        }
        const held = leases.flatMap((lease) => lease.gpus.map(({ id }) => id));
        expect(new Set(held).size).toBe(held.length);
        const shown = ledger.devices().filter(({ holder }) => holder !== null);
        expect(shown.map(({ id }) => id).sort()).toEqual([...held].sort());
        const sum = (of: "memory_bytes" | "cpus") =>
          leases.reduce((total, lease) => total + lease[of], 0);
        expect(leases.length).toBeLessThanOrEqual(chosen.containers);
        expect(sum("memory_bytes")).toBeLessThanOrEqual(
          MACHINE.memory_bytes * (chosen.memory_bytes === undefined ? 0.9 : 1),
        );
        if (chosen.cpus === undefined) expect(sum("cpus")).toBeLessThanOrEqual(MACHINE.cpus + 1e-6);
      }
      ledger.see(all);
      for (const lease of leases) lease.release();
      const whole = ofGpus(gpus);
      expect(ledger.fits(whole)).toBe(ledger.problem(whole) === undefined);
    },
  );
  fc.assert(property, { numRuns: 300 });
});
