/** The GPUs that containers can be given, and where the runner learns of them. */
export interface Device {
  /** `GPU-…`, or `MIG-…` for an instance of a GPU that is partitioned. */
  id: string;
  /** As nvidia-smi counts: `0`, or `0:1` for an instance. */
  index: string;
  name: string;
  /** 0 if the driver does not tell. */
  memory_gb: number;
  /** Why it cannot be used, in the driver's words. */
  fault?: string;
  /** Nothing is behind it: for trying things out. */
  pretend?: true;
}

export interface DeviceSource {
  /** @throws Error for the operator if there are GPUs and their driver does not answer */
  list(): Promise<Device[]>;
}
