/** The readings of GPUs, from the lines of nvidia-smi. */
import { expect, test, vi } from "vitest";
import { GpuMeter } from "../../../runner/src/devices/gpu-meter.ts";

const GPU = "GPU-00000001-1111-2222-3333-444444444444";
const OTHER = "GPU-00000002-1111-2222-3333-444444444444";

async function readingsOf(...lines: string[]) {
  const meter = new GpuMeter(async () => lines.map((line) => `${line}\n`).join(""));
  await meter.read();
  return Object.fromEntries(meter.readings);
}

test("a reading has the driver's values in base units", async () => {
  expect(await readingsOf(`${GPU}, 57, 20480, 46068, 61, 287.35`)).toEqual({
    [GPU]: {
      utilization: 0.57,
      memory_used_bytes: 20_480 * 1024 ** 2,
      memory_total_bytes: 46_068 * 1024 ** 2,
      temperature_celsius: 61,
      power_watts: 287.35,
    },
  });
});

test("values that the driver does not tell, or that cannot be true, are left out", async () => {
  const lines = [
    `${GPU}, [N/A], [Not Supported], [N/A], 40, [Unknown Error]`,
    `${OTHER}, 4294967295, 0, 46068, , 1e9`,
  ];
  expect(await readingsOf(...lines, "", "Unable to determine the device handle")).toMatchObject({
    [GPU]: { temperature_celsius: 40 },
    [OTHER]: { memory_used_bytes: 0, memory_total_bytes: 46_068 * 1024 ** 2 },
  });
  expect(Object.keys((await readingsOf(...lines))[OTHER] ?? {})).toHaveLength(2);
  expect(Object.keys(await readingsOf("Unable to determine the device handle, 1"))).toEqual([]);
});

test("a reading is announced every 10 seconds", async () => {
  vi.useFakeTimers();
  try {
    const meter = new GpuMeter(async () => `${GPU}, 1, 1, 1, 1, 1\n`);
    meter.onReading = vi.fn();
    await meter.start();
    expect(meter.onReading).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(meter.onReading).toHaveBeenCalledTimes(2);
  } finally {
    vi.useRealTimers();
  }
});

test("there are no readings while the driver does not respond", async () => {
  let answers = true;
  const meter = new GpuMeter(async () => {
    if (answers) return `${GPU}, 1, 1, 1, 1, 1\n`;
    throw new Error("nvidia-smi does not respond");
  });
  await meter.read();
  expect(meter.readings.size).toBe(1);
  answers = false;
  await meter.read();
  expect(meter.readings.size).toBe(0);
});
