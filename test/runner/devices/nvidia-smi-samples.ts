/** Output of nvidia-smi, cut to the relevant parts, in the form of drivers 535 to 580. */

export interface SampleGpu {
  index: number;
  name: string;
  uuid: string;
  /** The memory as nvidia-smi prints it: `46068 MiB`. */
  total: string;
  mig?: "Enabled" | "Disabled" | "N/A";
  instances?: { profile: string; uuid: string; total: string }[];
  /** The name of a process on the GPU. */
  process?: string;
}

export const uuidOf = (n: number): string =>
  `GPU-${String(n).padStart(8, "0")}-1111-2222-3333-444444444444`;

export const l40s = (n: number, changes: Partial<SampleGpu> = {}): SampleGpu => ({
  index: n,
  name: "NVIDIA L40S",
  uuid: uuidOf(n),
  total: "46068 MiB",
  mig: "N/A",
  ...changes,
});

/** Returns the output of `nvidia-smi -L`. */
export const listOf = (gpus: SampleGpu[]): string =>
  gpus
    .flatMap(({ index, name, uuid, instances = [] }) => [
      `GPU ${index}: ${name} (UUID: ${uuid})`,
      ...instances.map(
        (one, n) => `  MIG ${one.profile.padEnd(12)}Device  ${n}: (UUID: ${one.uuid})`,
      ),
    ])
    .map((line) => `${line}\n`)
    .join("");

/** Returns the output of `nvidia-smi -q -x`. */
export const documentOf = (gpus: SampleGpu[]): string => `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<timestamp>Fri Nov 20 12:00:00 2026</timestamp>
\t<driver_version>570.133.20</driver_version>
\t<cuda_version>12.8</cuda_version>
\t<attached_gpus>${gpus.length}</attached_gpus>
${gpus.map(gpuElement).join("\n")}
</nvidia_smi_log>
`;

const gpuElement = ({ name, uuid, total, mig = "N/A", instances, process }: SampleGpu): string => `\
\t<gpu id="00000000:15:00.0">
\t\t<product_name>${name}</product_name>
\t\t<mig_mode>
\t\t\t<current_mig>${mig}</current_mig>
\t\t\t<pending_mig>${mig}</pending_mig>
\t\t</mig_mode>
\t\t<mig_devices>
${instances ? instances.map(instanceElement).join("\n") : "\t\t\tNone"}
\t\t</mig_devices>
\t\t<uuid>${uuid}</uuid>
\t\t<fb_memory_usage>
\t\t\t<total>${total}</total>
\t\t\t<reserved>600 MiB</reserved>
\t\t\t<used>0 MiB</used>
\t\t</fb_memory_usage>
\t\t<bar1_memory_usage>
\t\t\t<total>65536 MiB</total>
\t\t</bar1_memory_usage>
\t\t<processes>
${process === undefined ? "" : processElement(process)}
\t\t</processes>
\t</gpu>`;

const instanceElement = ({ total }: { total: string }, n: number): string => `\
\t\t\t<mig_device>
\t\t\t\t<index>${n}</index>
\t\t\t\t<gpu_instance_id>${n + 1}</gpu_instance_id>
\t\t\t\t<compute_instance_id>0</compute_instance_id>
\t\t\t\t<fb_memory_usage>
\t\t\t\t\t<total>${total}</total>
\t\t\t\t</fb_memory_usage>
\t\t\t</mig_device>`;

const processElement = (name: string): string => `\
\t\t\t<process_info>
\t\t\t\t<pid>4242</pid>
\t\t\t\t<process_name>${name}</process_name>
\t\t\t\t<used_memory>512 MiB</used_memory>
\t\t\t</process_info>`;
