/** Checks this machine's GPUs, by themselves and against the hardware class that it serves. */
import { z } from "zod";
import type { Device, DeviceSource } from "../devices/device.ts";
import { DRIVER_ADVICE } from "../devices/nvidia-smi.ts";
import { messageOf } from "../lib/error.ts";

/** One result of `auspex-runner check`. */
export interface Finding {
  ok: boolean;
  name: string;
  detail: string;
  /** The way to fix the problem. If `ok` is true, the finding is a warning. */
  advice?: string;
}

/** A card that is sold with 48 GB reports 45: it counts in units of 2^30 bytes and keeps some for ECC. */
const MEMORY_TOLERANCE = 0.9;

const FAULT_ADVICE =
  "check nvidia-smi -q and the kernel log (dmesg | grep Xid) for the cause, and the UUIDs of --gpu-devices";

const name = "gpu";

/** @returns also the GPUs that can be used */
export async function checkGpus(
  source: DeviceSource,
): Promise<{ finding: Finding; usable: Device[] }> {
  try {
    const devices = await source.list();
    const usable = devices.filter(({ fault }) => !fault);
    const detail = devices.map(shown).join("; ") || "none";
    if (usable.length === devices.length) return { finding: { ok: true, name, detail }, usable };
    return { finding: { ok: false, name, detail, advice: FAULT_ADVICE }, usable };
  } catch (error) {
    const finding = { ok: false, name, detail: messageOf(error), advice: DRIVER_ADVICE };
    return { finding, usable: [] };
  }
}

const shown = ({ id, index, name: called, memory_gb, fault }: Device): string =>
  `${index}: ${called}, ${fault ?? `${memory_gb} GB`} (${id})`;

const hardwareClass = z.object({
  name: z.string(),
  gpus: z.number(),
  ram_per_gpu_gb: z.number().default(0),
});

/**
 * Missing GPUs or memory are only a warning: jobs of the class wait for another runner, and this runner
 * serves its other classes.
 * @param described the deployment's description of the class
 */
export function checkClass(described: unknown, hardware: string, gpus: readonly Device[]): Finding {
  const { name: called, gpus: due, ram_per_gpu_gb: memory } = hardwareClass.parse(described);
  const found = { ok: true, name: "hardware", detail: `${hardware}, ${called}` };
  if (gpus.length < due) {
    return {
      ...found,
      detail: `containers of ${hardware} get ${count(due)}, and this machine has ${gpus.length === 0 ? "none" : gpus.length}`,
      advice:
        "its predictions would be queued for a larger machine: use another class (--hardware), or fix the gpu problem above",
    };
  }
  if (due === 0 && gpus.length > 0) {
    return {
      ...found,
      detail: `containers of ${hardware} get no GPU: ${count(gpus.length)} of this machine would not be used`,
      advice: "set the number of GPUs of the class at /fleet/hardware, or use another class",
    };
  }
  const small = gpus.filter(
    ({ memory_gb, pretend }) => !pretend && memory_gb > 0 && memory_gb < memory * MEMORY_TOLERANCE,
  );
  if (due === 0 || small.length === 0) return found;
  return {
    ...found,
    detail: `GPUs of ${hardware} have ${memory} GB of memory, and of this machine's ${count(small.length)} less: ${small.map(shown).join("; ")}`,
    advice: "use another class (--hardware), or only the GPUs that fit (--gpu-devices)",
  };
}

const count = (gpus: number): string => (gpus === 1 ? "1 GPU" : `${gpus} GPUs`);
