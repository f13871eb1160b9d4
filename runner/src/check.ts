/** `auspex-runner check`: looks at the box and says in words what is wrong and what to do. */
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import type { Config } from "./config.ts";
import { messageOf } from "./error.ts";
import type { Finding } from "./finding.ts";
import { gpuDevice, parseGpus, queryGpus } from "./hardware.ts";
import { problemDetail } from "./json-client.ts";

/** An image with its weights is seldom smaller. */
const MIN_DISK_GB = 20;
/** Beyond this, signed addresses and certificates begin to fail. */
const MAX_SKEW_MS = 5_000;
const PROBE_TIMEOUT_MS = 10_000;

export async function checkBox(
  config: Config,
  engine: () => Promise<Finding[]>,
): Promise<Finding[]> {
  const disk = config.models ?? "/var/lib/docker";
  const findings = await Promise.all([
    checkNode(process.versions.node),
    checkGpu(),
    checkDisk(existsSync(disk) ? disk : "/"),
    checkControlPlane(config),
    engine().catch((error: unknown) => [{ ok: false, name: "engine", detail: messageOf(error) }]),
  ]);
  return findings.flat();
}

export function checkNode(version: string): Finding {
  const ok = Number.parseInt(version, 10) >= 22;
  const advice = ok ? undefined : "install Node 22 or later";
  return { ok, name: "node", detail: version, advice };
}

async function checkGpu(): Promise<Finding> {
  const name = "gpu";
  try {
    const gpus = parseGpus(await queryGpus("name,memory.total"));
    return {
      ok: true,
      name,
      detail: gpus.map((gpu) => `${gpu.name}, ${gpu.memory_gb} GB`).join("; "),
    };
  } catch (error) {
    const device = gpuDevice();
    if (!device) return { ok: true, name, detail: "none" };
    return {
      ok: false,
      name,
      detail: `${device} is there, but nvidia-smi does not answer: ${messageOf(error)}`,
      advice: "install or reload the NVIDIA driver; after a driver update, restart the machine",
    };
  }
}

async function checkDisk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const free = Math.floor((bavail * bsize) / 1024 ** 3);
  const detail = `${free} GB free at ${folder}`;
  if (free >= MIN_DISK_GB) return { ok: true, name: "disk", detail };
  return { ok: free > 0, name: "disk", detail, advice: "make room: images of models are large" };
}

/**
 * One empty telemetry, which changes nothing: 401 and 403 speak of the token, any other refusal
 * means that the token was accepted, and the Date header is the other side's clock.
 */
export async function checkControlPlane({ url, token }: Pick<Config, "url" | "token">) {
  const sentAt = Date.now();
  try {
    const response = await fetch(`${url}/v1/runner/telemetry`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: "{}",
      redirect: "manual",
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    const detail = problemDetail(response.status, await response.text());
    return [
      checkAnswer(url, response, detail),
      checkToken(response.status, detail),
      checkClock(response.headers.get("date"), (sentAt + Date.now()) / 2),
    ];
  } catch (error) {
    const advice = "check the address, DNS, and that this machine may call out by HTTPS";
    return [{ ok: false, name: "control plane", detail: `${url}: ${messageOf(error)}`, advice }];
  }
}

function checkAnswer(url: string, { status, headers }: Response, detail: string): Finding {
  const name = "control plane";
  if (status >= 500) {
    const advice = "the deployment has trouble of its own: see its logs";
    return { ok: false, name, detail: `${url} answers ${status}: ${detail}`, advice };
  }
  // Ours is a problem: a runner that is not registered, which is no fault of the address.
  const stranger = status === 404 && !headers.get("content-type")?.includes("problem+json");
  if (stranger || (status >= 300 && status < 400)) {
    const advice = "the address is that of the deployment, without a path";
    return { ok: false, name, detail: `${url} is no Auspex: it answers ${status}`, advice };
  }
  const { protocol, hostname } = new URL(url);
  const plain = protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  const advice = plain ? "use https: the token travels in the clear" : undefined;
  return { ok: true, name, detail: `${url} answers`, advice };
}

function checkToken(status: number, detail: string): Finding {
  const ok = status !== 401 && status !== 403;
  if (ok) return { ok, name: "token", detail: "accepted" };
  return { ok, name: "token", detail, advice: "make a runner token on the deployment" };
}

/** The header has whole seconds: what it says is half a second old on average. */
export function checkClock(date: string | null, now: number): Finding {
  const skew = date === null ? Number.NaN : now - (Date.parse(date) + 500);
  if (Number.isNaN(skew)) return { ok: true, name: "clock", detail: "the answer carries no date" };
  const detail = `${(Math.abs(skew) / 1000).toFixed(1)} s ${skew > 0 ? "ahead" : "behind"}`;
  const advice = "turn on time synchronisation (timedatectl set-ntp true)";
  return {
    ok: true,
    name: "clock",
    detail,
    advice: Math.abs(skew) > MAX_SKEW_MS ? advice : undefined,
  };
}

/** One line a finding, and below it what to do. */
export function formatFindings(findings: Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  return findings
    .map(({ ok, name, detail, advice }) => {
      const mark = ok ? (advice ? "warn" : "ok") : "BAD";
      const line = `${mark.padEnd(4)}  ${name.padEnd(width)}  ${detail}`;
      return advice ? `${line}\n${" ".repeat(width + 8)}-> ${advice}` : line;
    })
    .join("\n");
}
