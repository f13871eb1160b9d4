/** The NVIDIA GPUs of this machine, as its driver's nvidia-smi lists them. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { z } from "zod";
import type { Device, DeviceSource } from "./device.ts";
import { parseDevices } from "./parse-nvidia-smi.ts";

const run = promisify(execFile);

/**
 * nvidia-smi hangs for minutes if a GPU has fallen off the bus. Without persistence mode it starts
 * the driver first, which takes about a second for each GPU.
 */
const ANSWER_MS = 30_000;

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

  async #run(...flags: string[]): Promise<string> {
    const limits = { timeout: ANSWER_MS, killSignal: "SIGKILL", maxBuffer: MAX_BYTES } as const;
    try {
      return (await run(this.#command, flags, limits)).stdout;
    } catch (error) {
      const { killed, stdout } = execFailure.safeParse(error).data ?? {};
      if (killed !== false || !stdout) throw error;
      // nvidia-smi exits with an error after a warning or if one GPU failed, and may still list the others.
      if (stdout.includes("GPU-")) return stdout;
      throw new Error(stdout.trim().slice(0, 500));
    }
  }
}

const execFailure = z.object({ killed: z.boolean(), stdout: z.string() });

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";
