/** The metrics of a real runner with a GPU and a container that serves its own, over HTTP. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listModels } from "../../../runner/src/engines/process/model-folder.ts";
import { VERSION } from "../../../runner/src/lib/version.ts";
import { type RunnerProcess, startRunner } from "../../../src/dev/runner.ts";
import { OPENMETRICS } from "../../../src/lib/openmetrics.ts";
import { claimRequest, type Job } from "../../../src/protocol/runner.ts";
import type { RunnerSnapshot } from "../../../src/protocol/runner-state.ts";
import { freePort } from "../../processes/free-port.ts";
import { makeJob } from "../support/containers.ts";
import { FakeControlPlane } from "../support/fake-control-plane.ts";
import { addModel } from "../support/model-folders.ts";
import { readOpenMetrics } from "../support/openmetrics.ts";
import { settings } from "../support/samples.ts";

const GPU = "GPU-00000001-1111-2222-3333-444444444444";

/** A driver of one GPU. */
const NVIDIA_SMI = `#!/bin/sh
case "$1" in
  -L) echo "GPU 0: NVIDIA L40S (UUID: ${GPU})" ;;
  -q) echo "<nvidia_smi_log></nvidia_smi_log>" ;;
  --query-gpu=uuid*) echo "${GPU}, 97, 20480, 46068, 61, 287.35" ;;
  *) echo "NVIDIA L40S, 46068" ;;
esac
`;

let folder: string;
let plane: FakeControlPlane;
let runner: RunnerProcess | undefined;
let told: RunnerSnapshot[];
let queue: Job[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "auspex-metrics-"));
  plane = await FakeControlPlane.start();
  [told, queue] = [[], []];
  const session = {
    runner_id: "01990000-0000-7000-8000-aaaaaaaaaaaa",
    session: "01990000-0000-7000-8000-bbbbbbbbbbbb",
    pool: "cpu",
    settings,
  };
  plane.endpoints.set("/v1/runner/sessions", () => ({ body: session }));
  plane.endpoints.set("/v1/runner/telemetry", () => ({ body: { draining: false } }));
  plane.endpoints.set("/v1/runner/state", () => ({ body: { wanted: false } }));
  plane.endpoints.set("/v1/runner/jobs/claim", async (body) => {
    told.push(claimRequest.parse(body).snapshot);
    if (queue.length === 0) await new Promise(() => {});
    return { body: { jobs: queue.splice(0) } };
  });
});

afterEach(async () => {
  await runner?.stop(5_000);
  await plane.stop();
  rmSync(folder, { recursive: true });
});

/** Returns the job of a server, and its channel. */
async function serverJob(models: string) {
  addModel(
    models,
    "server",
    fileURLToPath(new URL("../models/server.mjs", import.meta.url)),
    "vendora",
  );
  const [model] = await listModels(models);
  const image = { repository: "registry.test/server", digest: model?.digest ?? "" };
  const input = {
    messages: [{ role: "user", content: "hi" }],
    stream: true,
    way: "say",
    words: ["a"],
  };
  const job = makeJob(image, input, {
    model: { owner: "test", name: "server", version_number: 7 },
    interface: "vendora",
    call: "chat_completions",
  });
  return { job, prediction: plane.prediction(job.lease) };
}

test("a runner serves its own metrics and those of its containers, and reports its GPU", async () => {
  const models = join(folder, "models");
  const { job, prediction } = await serverJob(models);
  queue.push({ ...job, keys: { container: "c", files: "f" } });
  writeFileSync(join(folder, "nvidia-smi"), NVIDIA_SMI);
  chmodSync(join(folder, "nvidia-smi"), 0o755);
  const address = `127.0.0.1:${await freePort()}`;
  const lines: string[] = [];
  runner = startRunner({
    url: plane.url,
    token: "ausr_x",
    name: "box",
    hardware: "cpu",
    slots: 4,
    stateFolder: join(folder, "state"),
    models: { owners: ["test"], folder: models },
    environment: {
      PATH: `${folder}:${process.env.PATH}`,
      AUSPEX_METRICS_ADDRESS: address,
    },
    onLine: (line) => lines.push(line),
  });
  await prediction.until(() => prediction.finish !== undefined);
  expect(prediction.finish, lines.join("\n")).toMatchObject({ status: "succeeded" });
  const reading = {
    utilization: 0.97,
    memory_used_bytes: 20_480 * 1024 ** 2,
    memory_total_bytes: 46_068 * 1024 ** 2,
    temperature_celsius: 61,
    power_watts: 287.35,
  };
  expect(told[0]?.devices).toMatchObject([{ id: GPU, ...reading }]);
  expect(told[0]?.disks.data?.total).toBeGreaterThan(0);

  const response = await fetch(`http://${address}/metrics`);
  expect(response.headers.get("content-type")).toBe(OPENMETRICS);
  const series = readOpenMetrics(await response.text());
  const figure = (name: string, labels: object = {}): string | undefined => {
    const wanted = Object.entries({ runner: "box", ...labels });
    const matches = series.filter(
      (one) => one.name === name && wanted.every(([key, value]) => one.labels.get(key) === value),
    );
    expect(matches.length).toBeLessThan(2);
    return matches[0]?.value;
  };
  const origin = { model: "test/server", version: "7", container: "0" };
  const ofModel = { ...origin, model_name: "parrot-7b", exported_runner: "mine" };
  expect(figure("vllm:generation_tokens_total", ofModel)).toBe("3");
  expect(figure("llamacpp:requests_processing", origin)).toBe("0");
  expect(figure("auspex_runner_build_info", { version: VERSION })).toBe("1");
  const ready = { model: "test/server", state: "ready" };
  expect(figure("auspex_runner_containers", ready)).toBe("1");
  expect(figure("auspex_runner_slots", { state: "free" })).toBe("4");
  expect(figure("auspex_runner_jobs")).toBe("0");
  expect(figure("auspex_runner_gpu_utilization_ratio", { gpu: GPU })).toBe("0.97");
  expect(figure("auspex_runner_gpu_power_watts", { gpu: GPU })).toBe("287.35");
  expect(Number(figure("auspex_runner_disk_free_bytes", { disk: "data" }))).toBeGreaterThan(0);
  expect(figure("auspex_runner_cache_bytes", { cache: "weights" })).toBe("0");
  expect(figure("auspex_runner_container_dropped_lines", origin)).toBe("0");
  expect((await fetch(`http://${address}/`)).status).toBe(404);
});
