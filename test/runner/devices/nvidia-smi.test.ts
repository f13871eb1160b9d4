/** The GPUs of a machine, as its driver lists them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { PretendGpus, SomeDevices } from "../../../runner/src/devices/device.ts";
import {
  gpuDevice,
  NvidiaSmi,
  parseDevices,
  queryGpus,
} from "../../../runner/src/devices/nvidia-smi.ts";

interface SampleGpu {
  index: number;
  name: string;
  uuid: string;
  /** The memory as nvidia-smi prints it: `46068 MiB`. */
  total: string;
  mig?: "Enabled" | "Disabled" | "N/A";
  /** The action that the driver wants, which older drivers do not tell. */
  recovery?: string;
  instances?: { profile: string; uuid: string; total: string }[];
  /** The name of a process on the GPU. */
  process?: string;
}

const uuidOf = (n: number): string =>
  `GPU-${String(n).padStart(8, "0")}-1111-2222-3333-444444444444`;

const l40s = (n: number, changes: Partial<SampleGpu> = {}): SampleGpu => ({
  index: n,
  name: "NVIDIA L40S",
  uuid: uuidOf(n),
  total: "46068 MiB",
  mig: "N/A",
  ...changes,
});

/** Returns the output of `nvidia-smi -L`. */
const listOf = (gpus: SampleGpu[]): string =>
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
const documentOf = (gpus: SampleGpu[]): string => `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<timestamp>Fri Nov 20 12:00:00 2026</timestamp>
\t<driver_version>570.133.20</driver_version>
\t<cuda_version>12.8</cuda_version>
\t<attached_gpus>${gpus.length}</attached_gpus>
${gpus.map(gpuElement).join("\n")}
</nvidia_smi_log>
`;

const gpuElement = ({
  name,
  uuid,
  total,
  mig = "N/A",
  recovery,
  instances,
  process,
}: SampleGpu): string => `\
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
${recovery === undefined ? "" : `\t\t<gpu_recovery_action>${recovery}</gpu_recovery_action>`}
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

const parse = (gpus: SampleGpu[]) => parseDevices(listOf(gpus), documentOf(gpus));

const eight = Array.from({ length: 8 }, (_, n) => l40s(n));

describe("the devices of a machine", () => {
  it("devices are the GPUs, by UUID", () => {
    const devices = parse(eight);
    expect(devices).toHaveLength(8);
    expect(devices[7]).toEqual({
      id: uuidOf(7),
      index: "7",
      name: "NVIDIA L40S",
      memory_gb: 45,
    });
  });

  it("devices are the instances in place of a partitioned GPU", () => {
    const instances = [
      { profile: "3g.40gb", uuid: "MIG-c7384736-a75d-5afc-978f-d2f1294409fd", total: "40448 MiB" },
      // Drivers before 470 name instances like this.
      { profile: "1g.10gb", uuid: `MIG-${uuidOf(0)}/7/0`, total: "9728 MiB" },
    ];
    const h100 = { name: "NVIDIA H100 80GB HBM3", total: "81559 MiB" };
    const gpus = [l40s(0, { ...h100, mig: "Enabled", instances }), l40s(1, h100)];
    expect(parse(gpus)).toEqual([
      {
        id: instances[0]?.uuid,
        index: "0:0",
        name: "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
        memory_gb: 39.5,
      },
      {
        id: instances[1]?.uuid,
        index: "0:1",
        name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        memory_gb: 9.5,
      },
      { id: uuidOf(1), index: "1", name: "NVIDIA H100 80GB HBM3", memory_gb: 79.6 },
    ]);
  });

  it("devices do not include a GPU in MIG mode that has no instances yet", () => {
    expect(parse([l40s(0, { mig: "Enabled" }), l40s(1)]).map(({ id }) => id)).toEqual([uuidOf(1)]);
  });

  it("devices may have no memory, or a fault in its place", () => {
    const [shared, failed] = parse([
      l40s(0, { name: "NVIDIA GB10", total: "[N/A]" }),
      l40s(1, { total: "Unknown Error" }),
    ]);
    expect(shared).toMatchObject({ memory_gb: 0 });
    expect(shared).not.toHaveProperty("fault");
    expect(failed).toMatchObject({ id: uuidOf(1), fault: "Unknown Error" });
  });

  test.each(["Reset", "Reboot", "Drain P2P", "Drain and Reset"])(
    "devices have a fault when the driver wants a GPU recovered: %s",
    (recovery) => {
      const instances = [{ profile: "1g.10gb", uuid: "MIG-1", total: "9728 MiB" }];
      const devices = parse([
        l40s(0, { recovery: "None" }),
        l40s(1, { recovery }),
        l40s(2, { recovery, mig: "Enabled", instances }),
        l40s(3, { recovery: "N/A" }),
      ]);
      const fault = `the driver wants it recovered: ${recovery}`;
      expect(devices.map((one) => one.fault)).toEqual([undefined, fault, fault, undefined]);
    },
  );

  const endsProcess = "</process_name></process_info></processes>";
  const beginsProcess = "<processes><process_info><process_name>";
  const ends = `${endsProcess}</gpu>`;
  const begins = `<gpu>${beginsProcess}`;
  const action = "<gpu_recovery_action>Reset</gpu_recovery_action>";
  const fake = (uuid: string, total: string) =>
    `<gpu><uuid>${uuid}</uuid><mig_mode><current_mig>Enabled</current_mig></mig_mode>` +
    `<fb_memory_usage><total>${total}</total></fb_memory_usage></gpu>`;
  test.each([
    ["breaks the document", "a & b < c"],
    ["adds a GPU", `${ends}${fake("GPU-invented", "1 MiB")}${begins}`],
    ["says that another has failed", `${ends}${fake(uuidOf(1), "Unknown Error")}${begins}`],
    ["ends the document", `${ends}</nvidia_smi_log>`],
    ["says that its GPU is to be reset", `${endsProcess}${action}${beginsProcess}`],
  ])("devices are the same when the name of a process %s", (_what, process) => {
    const devices = parse([l40s(0, { process }), l40s(1)]);
    expect(devices.map(({ id, fault }) => [id, fault])).toEqual([
      [uuidOf(0), undefined],
      [uuidOf(1), undefined],
    ]);
  });
});

describe("nvidia-smi", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "auspex-smi-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function command(name: string, script: string): NvidiaSmi {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return new NvidiaSmi(file);
  }

  const printing = (name: string, gpus: SampleGpu[], exit: number) =>
    command(
      name,
      `if [ "$1" = -L ]; then cat <<'END'\n${listOf(gpus)}END\nelse cat <<'END'\n${documentOf(gpus)}END\nfi\nexit ${exit}`,
    );

  it("nvidia-smi is called for the list and for the document", async () => {
    expect(await printing("two", [l40s(0), l40s(1)], 0).list()).toEqual(parse([l40s(0), l40s(1)]));
  });

  it("nvidia-smi is trusted in what it lists when it exits with an error", async () => {
    expect(await printing("one", [l40s(1)], 15).list()).toEqual(parse([l40s(1)]));
  });

  it("nvidia-smi is quoted when the driver is missing", async () => {
    const said = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
    const source = command("broken", `echo "${said}"; exit 9`);
    await expect(source.list()).rejects.toMatchObject({
      message: "nvidia-smi does not respond",
      cause: { message: said },
    });
  });

  it("lists the GPUs of this machine, if it has any", async () => {
    const devices = await new NvidiaSmi().list();
    expect(devices.length > 0).toBe(gpuDevice() !== undefined);
    for (const { id } of devices) expect(id).toMatch(/^(GPU|MIG)-/);
  });

  it("nvidia-smi is trusted in its readings of the other GPUs when one has failed", async () => {
    const line = `${uuidOf(1)}, 61`;
    const error = "Unable to determine the device handle for GPU0: Unknown Error";
    command("reading", `echo "${error}"; echo "${line}"; exit 15`);
    expect(await queryGpus("uuid,temperature.gpu", join(folder, "reading"))).toBe(
      `${error}\n${line}\n`,
    );
  });

  it("nvidia-smi lists nothing on a machine without GPUs", async () => {
    expect(await command("none", "echo 'No devices found'").list()).toEqual([]);
  });
});

test("a runner can use only some of the devices, and learns which of them are missing", async () => {
  const source = new PretendGpus(3);
  const some = await new SomeDevices(source, ["GPU-pretend-2", "GPU-typo"]).list();
  expect(some).toEqual([
    { id: "GPU-pretend-2", index: "2", name: "Pretend GPU", memory_gb: 24, pretend: true },
    expect.objectContaining({ id: "GPU-typo", fault: "nvidia-smi does not list it" }),
  ]);
});
