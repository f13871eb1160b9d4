/**
 * Tells what became of a container's GPUs from what its model did: of a failed run it may be the
 * machine that is to blame, and then the container, or the GPU, is not used again.
 */
import type { DeviceWatch } from "../devices/device-watch.ts";
import type { Ledger } from "../devices/ledger.ts";
import { type Failure, ofMachine } from "../lib/failure.ts";
import type { Log } from "../lib/log.ts";
import type { Container } from "./container.ts";

/** Whether it is worth looking. */
const ABOUT_GPUS = /cuda|nvml|nvidia|\bgpus?\b/i;

/** NVML's words where the container has the device files and may not open them. */
const REVOKED = /Failed to initialize NVML: Unknown Error/;

/** Whoever uses a GPU opens it first. */
const CONTROL_DEVICE = "/dev/nvidiactl";

/**
 * It happens where systemd manages the cgroups of containers and does not know of the devices that
 * NVIDIA's hook has added: when it reloads its units, it sets the list anew.
 */
const REMEDY =
  "a reload of the machine's systemd units (systemctl daemon-reload, or an update of its packages) " +
  "takes them away. Its operator can prevent that: have Docker give containers their GPUs by CDI " +
  "(Docker 28.2 and NVIDIA Container Toolkit 1.18 or later do; with an earlier toolkit run " +
  "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml), or set " +
  '"exec-opts": ["native.cgroupdriver=cgroupfs"] in /etc/docker/daemon.json';

export interface GpuParts {
  devices: DeviceWatch;
  ledger: Ledger;
  log: Log;
}

/**
 * Undefined if the container's GPUs are in order, as far as can be seen.
 * @param text what the run failed with
 */
export async function gpuFailure(
  text: string,
  container: Container,
  { devices, ledger, log }: GpuParts,
): Promise<Failure | undefined> {
  const { gpus, reference: image } = container;
  if (gpus.length === 0 || !ABOUT_GPUS.test(text)) return undefined;
  await devices.check();
  const lost = gpus.filter((gpu) => ledger.isLost(gpu));
  // The log has said so, and the container is on its way out.
  if (lost.length > 0) return ofMachine(`${namesOf(lost)} of the runner's machine failed`);
  const mayOpen = await container.canOpen(CONTROL_DEVICE);
  if (mayOpen ?? !REVOKED.test(text)) return undefined;
  const failure = ofMachine(
    `the container lost its GPUs, which work outside of it, and is replaced: ${REMEDY}`,
  );
  log.warn(failure.message, { image, gpus: gpus.map(({ id }) => id).join(" ") });
  await container.killOnceUnused(failure);
  return failure;
}

const namesOf = (gpus: readonly { name: string; id: string }[]): string =>
  gpus.map(({ name, id }) => `${name} (${id})`).join(", ");
