/** The NVIDIA GPUs of this machine, as its driver's nvidia-smi lists them. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { parseXml, XmlElement } from "@rgrove/parse-xml";
import { z } from "zod";
import type { Device, DeviceSource } from "./device.ts";

const run = promisify(execFile);

/**
 * nvidia-smi hangs for minutes if a GPU has fallen off the bus. Without persistence mode it starts
 * the driver first, which takes about a second for each GPU.
 */
const ANSWER_MS = 30_000;

/** Readings take less than a listing, and come again soon. */
const READING_MS = 5_000;

/** The limit of the output; one GPU takes 20 KB. */
const MAX_BYTES = 8 * 1024 ** 2;

export const DRIVER_ADVICE =
  "install or reload the NVIDIA driver; after a driver update, restart the machine";

/** The device file of a GPU; undefined without a GPU or driver. */
export const gpuDevice = (): string | undefined =>
  ["/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg"].find(existsSync);

export class NvidiaSmi implements DeviceSource {
  readonly #command: string;

  constructor(command = "nvidia-smi") {
    this.#command = command;
  }

  async list(): Promise<Device[]> {
    try {
      const list = await this.#run("-L");
      // A machine may have a driver and no GPU.
      if (!list.includes("UUID:")) return [];
      return parseDevices(list, await this.#run("-q", "-x"));
    } catch (error) {
      if (isMissing(error) && gpuDevice() === undefined) return [];
      throw new Error("nvidia-smi does not respond", { cause: error });
    }
  }

  #run = (...flags: string[]) => output(this.#command, flags, ANSWER_MS);
}

/** Returns one line per GPU; rejects if the driver is missing or does not respond. */
export const queryGpus = (fields: string, command = "nvidia-smi"): Promise<string> =>
  output(command, [`--query-gpu=${fields}`, "--format=csv,noheader,nounits"], READING_MS);

async function output(command: string, flags: string[], timeout: number): Promise<string> {
  const limits = { timeout, killSignal: "SIGKILL", maxBuffer: MAX_BYTES } as const;
  try {
    return (await run(command, flags, limits)).stdout;
  } catch (error) {
    const { killed, stdout } = execFailure.safeParse(error).data ?? {};
    if (killed !== false || !stdout) throw error;
    // nvidia-smi exits with an error after a warning or if one GPU failed, and may still list the others.
    if (stdout.includes("GPU-")) return stdout;
    throw new Error(stdout.trim().slice(0, 500));
  }
}

const execFailure = z.object({ killed: z.boolean(), stdout: z.string() });

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

const GPU_LINE = /^GPU (\d+): (.+) \(UUID: (GPU-[\w-]+)\)\s*$/;
const INSTANCE_LINE = /^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[\w/-]+)\)\s*$/;

/** Values of readings that a working GPU may lack: a GPU that shares the machine's memory has no total. */
const NOT_TOLD = /^\[?(N\/A|Not Supported)\]?$/;

interface Listed {
  index: string;
  name: string;
  id: string;
  instances: { index: string; profile: string; id: string }[];
}

/**
 * Parses the output of nvidia-smi. The list of GPUs comes from `nvidia-smi -L`, since only this command names
 * the instances of a partitioned GPU (MIG) with every driver; their properties come from `nvidia-smi -q -x`.
 * That document also has the names of the processes on the GPUs, which containers choose: no such name can
 * add or hide a GPU.
 * @param list of `nvidia-smi -L`
 * @param document of `nvidia-smi -q -x`
 */
export function parseDevices(list: string, document: string): Device[] {
  const details = readDetails(document);
  return parseList(list).flatMap(({ index, name, id, instances }) => {
    const gpu = details?.find((one) => textAt(one, "uuid") === id);
    const failed = readFault(gpu);
    if (instances.length === 0) {
      // A GPU with MIG enabled and no instances can run nothing.
      if (gpu && textAt(gpu, "mig_mode", "current_mig") === "Enabled") return [];
      return [{ id, index, name, ...readMemory(gpu), ...failed }];
    }
    return instances.map((instance) => {
      const parts = gpu ? childrenAt(gpu, "mig_devices", "mig_device") : [];
      const detail = parts.find((one) => textAt(one, "index") === instance.index);
      return {
        id: instance.id,
        index: `${index}:${instance.index}`,
        name: `${name} MIG ${instance.profile}`,
        ...readMemory(detail),
        ...failed,
      };
    });
  });
}

function parseList(list: string): Listed[] {
  const gpus: Listed[] = [];
  for (const line of list.split("\n")) {
    const [, index, name, id] = GPU_LINE.exec(line) ?? [];
    if (index && name && id) gpus.push({ index, name: name.slice(0, 200), id, instances: [] });
    const [, profile, number, instance] = INSTANCE_LINE.exec(line) ?? [];
    if (profile && number && instance)
      gpus.at(-1)?.instances.push({ index: number, profile, id: instance });
  }
  return gpus;
}

/** Undefined if the name of a process has broken the document, or has added a GPU to it. */
function readDetails(document: string): XmlElement[] | undefined {
  try {
    const gpus = childrenOf(parseXml(document).root, "gpu");
    const ids = new Set(gpus.map((gpu) => textAt(gpu, "uuid")));
    return ids.size === gpus.length ? gpus : undefined;
  } catch {
    return undefined;
  }
}

/** A GPU that has failed has the driver's error in place of a reading, such as `Unknown Error`. */
function readMemory(gpu: XmlElement | undefined): Pick<Device, "memory_gb" | "fault"> {
  const total = gpu && textAt(gpu, "fb_memory_usage", "total");
  const [, mebibytes] = /^(\d+) MiB$/.exec(total ?? "") ?? [];
  if (mebibytes !== undefined) return { memory_gb: Math.round(Number(mebibytes) / 102.4) / 10 };
  if (total === undefined || NOT_TOLD.test(total)) return { memory_gb: 0 };
  return { memory_gb: 0, fault: total.slice(0, 200) };
}

/**
 * Newer drivers say what a GPU needs after an error that ends its use, such as a fatal Xid: `Reset`, `Reboot`,
 * `Drain P2P` or `Drain and Reset`. NVIDIA says that no new work should begin before. The Xid itself is in the
 * kernel's log, which most systems show to root only.
 */
const RECOVERY = /reset|reboot|drain|recover/i;

/** An older driver does not tell the action: an element of its name comes from the name of a process. */
function readFault(gpu: XmlElement | undefined): Pick<Device, "fault"> {
  const elements = gpu?.children.filter((one) => one instanceof XmlElement) ?? [];
  const processes = elements.findIndex(({ name }) => name === "processes");
  const told = elements.findIndex(({ name }) => name === "gpu_recovery_action");
  const action = elements[told]?.text.trim() ?? "";
  if (told > processes || !RECOVERY.test(action)) return {};
  return { fault: `the driver wants it recovered: ${action.slice(0, 100)}` };
}

const childrenOf = (element: XmlElement | null, name: string): XmlElement[] =>
  element?.children.filter(
    (one): one is XmlElement => one instanceof XmlElement && one.name === name,
  ) ?? [];

const childrenAt = (element: XmlElement, ...path: string[]): XmlElement[] =>
  path.reduce((elements, name) => elements.flatMap((one) => childrenOf(one, name)), [element]);

const textAt = (element: XmlElement, ...path: string[]): string | undefined =>
  childrenAt(element, ...path)[0]?.text.trim();
