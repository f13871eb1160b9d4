import { expect, test } from "vitest";
import {
  parseGpuLoads,
  parseGpus,
  readLoad,
  readMachine,
} from "../../../runner/src/check/hardware.ts";
import { PretendGpus } from "../../../runner/src/devices/device.ts";
import { machine, telemetryRequest } from "../../../src/protocol/runner.ts";

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
  expect(parseGpuLoads("97, 20480\n[Not Supported], 512")).toEqual([
    { used: 0.97, memory_used_gb: 20 },
    { used: 0, memory_used_gb: 0.5 },
  ]);
});

test("the description of this machine fits the protocol", async () => {
  const pretended = await readMachine(await new PretendGpus(2).list());
  // A machine with GPUs shows these instead of the pretended ones.
  expect(machine.parse(pretended).gpus.length).toBeGreaterThan(0);
  expect(machine.safeParse(await readMachine()).error).toBeUndefined();
  expect(telemetryRequest.shape.load.safeParse(await readLoad(false)).error).toBeUndefined();
});
