// A model that takes its GPUs as a driver in exclusive mode gives them: no other process with one of them
// starts. A run lasts `ms`, or until the file `.<gate>` is in the model's folder.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

// The folder of taken GPUs, which all models of this runner share.
const TAKEN = "../.gpus";
const { CUDA_VISIBLE_DEVICES: cuda, NVIDIA_VISIBLE_DEVICES: visible = "void" } = process.env;
const gpus = visible === "void" ? [] : visible.split(",");

function take(gpu) {
  const file = `${TAKEN}/${gpu}`;
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
  } catch {
    const holder = readFileSync(file, "utf8");
    // A process that was killed has left its file.
    if (existsSync(`/proc/${holder}`)) throw new Error(`${gpu} is in use by process ${holder}`);
    writeFileSync(file, String(process.pid));
  }
  process.on("exit", () => rmSync(file));
}

serve(manifest, {
  setup() {
    mkdirSync(TAKEN, { recursive: true });
    for (const gpu of gpus) take(gpu);
  },
  async predict({ ms, gate }, { signal }) {
    const began = Date.now();
    if (gate === undefined) await sleep(ms, undefined, { signal });
    else while (!existsSync(`.${gate}`)) await sleep(20, undefined, { signal });
    const directory = process.cwd();
    return { pid: process.pid, directory, gpus, cuda, began, ended: Date.now() };
  },
});
