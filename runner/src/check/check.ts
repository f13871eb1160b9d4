/** `auspex-runner check`: looks at the box and says in words what is wrong and what to do. */
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { z } from "zod";
import { messageOf } from "../control-plane/error.ts";
import { problemDetail } from "../control-plane/json-client.ts";
import type { Settings } from "../settings/read-settings.ts";
import type { Finding } from "./finding.ts";
import { gpuDevice, parseGpus, queryGpus } from "./hardware.ts";

/** An image with its weights is seldom smaller. */
const MIN_DISK_GB = 20;
/** Beyond this, signed addresses and certificates begin to fail. */
const MAX_SKEW_MS = 5_000;
const PROBE_TIMEOUT_MS = 10_000;

export async function checkMachine(
  config: Settings,
  engine: () => Promise<Finding[]>,
): Promise<Finding[]> {
  const disk = config.models ?? "/var/lib/docker";
  const gpus = await findGpus();
  const findings = await Promise.all([
    checkNode(process.versions.node),
    gpus.finding,
    checkDisk(existsSync(disk) ? disk : "/"),
    checkControlPlane(config, gpus.count),
    engine().catch((error: unknown) => [{ ok: false, name: "engine", detail: messageOf(error) }]),
  ]);
  return findings.flat();
}

export function checkNode(version: string): Finding {
  const ok = Number.parseInt(version, 10) >= 22;
  const advice = ok ? undefined : "install Node 22 or later";
  return { ok, name: "node", detail: version, advice };
}

async function findGpus(): Promise<{ finding: Finding; count: number }> {
  const name = "gpu";
  try {
    const gpus = parseGpus(await queryGpus("name,memory.total"));
    const detail = gpus.map((gpu) => `${gpu.name}, ${gpu.memory_gb} GB`).join("; ");
    return { finding: { ok: true, name, detail }, count: gpus.length };
  } catch (error) {
    const device = gpuDevice();
    if (!device) return { finding: { ok: true, name, detail: "none" }, count: 0 };
    const detail = `${device} is there, but nvidia-smi does not answer: ${messageOf(error)}`;
    const advice =
      "install or reload the NVIDIA driver; after a driver update, restart the machine";
    return { finding: { ok: false, name, detail, advice }, count: 0 };
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
 * Asks for the class of machines that this one is to serve: 401 and 403 speak of the token, and
 * the Date header is the other side's clock.
 */
export async function checkControlPlane(
  { url, token, hardware }: Pick<Settings, "url" | "token" | "hardware">,
  gpus: number,
): Promise<Finding[]> {
  const sentAt = Date.now();
  try {
    const response = await fetch(`${url}/v1/runner/hardware/${encodeURIComponent(hardware)}`, {
      headers: { authorization: `Bearer ${token}` },
      redirect: "manual",
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    const text = await response.text();
    return [
      checkAnswer(url, response, problemDetail(response.status, text)),
      ...(isForeignService(response)
        ? []
        : checkService(response.status, text, { hardware, gpus })),
      checkClock(response.headers.get("date"), (sentAt + Date.now()) / 2),
    ];
  } catch (error) {
    const advice = "check the address, DNS, and that this machine may call out by HTTPS";
    return [{ ok: false, name: "control plane", detail: `${url}: ${messageOf(error)}`, advice }];
  }
}

/** Ours is JSON, also where there is no such class of machines, which is no fault of the address. */
function isForeignService({ status, headers }: Response): boolean {
  if (status >= 300 && status < 400) return true;
  return (status === 200 || status === 404) && !headers.get("content-type")?.includes("json");
}

function checkAnswer(url: string, response: Response, detail: string): Finding {
  const name = "control plane";
  const { status } = response;
  if (status >= 500) {
    const advice = "the deployment has trouble of its own: see its logs";
    return { ok: false, name, detail: `${url} answers ${status}: ${detail}`, advice };
  }
  if (isForeignService(response)) {
    const advice = "the address is that of the deployment, without a path";
    return { ok: false, name, detail: `${url} is no Auspex: it answers ${status}`, advice };
  }
  const { protocol, hostname } = new URL(url);
  const plain = protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  const advice = plain ? "use https: the token travels in the clear" : undefined;
  return { ok: true, name, detail: `${url} answers`, advice };
}

/** The token, and the class of machines when it may be served with that. */
function checkService(
  status: number,
  text: string,
  { hardware, gpus }: { hardware: string; gpus: number },
): Finding[] {
  const token = { ok: true, name: "token", detail: "accepted" };
  const name = "hardware";
  const detail = problemDetail(status, text);
  switch (status) {
    case 200:
      return [token, checkHardware(served.parse(JSON.parse(text)), hardware, gpus)];
    case 401:
      return [{ ...token, ok: false, detail, advice: "make a runner token on the deployment" }];
    case 403: {
      const advice =
        "name a class that the token serves (--hardware), or make a token for this one";
      return [token, { ok: false, name, detail, advice }];
    }
    case 404: {
      const advice = "name a class of the deployment (--hardware), or add it at /fleet/hardware";
      return [token, { ok: false, name, detail, advice }];
    }
    default:
      return [];
  }
}

const served = z.object({ name: z.string(), gpus: z.number() });

/** A warning only: other GPUs than NVIDIA's are not seen from here. */
function checkHardware(
  { name: called, gpus: due }: z.infer<typeof served>,
  hardware: string,
  gpus: number,
): Finding {
  const name = "hardware";
  const found = { ok: true, name, detail: `${hardware}, ${called}` };
  if (gpus >= due) return found;
  return {
    ...found,
    detail: `a machine of ${hardware} has ${count(due)}, and this one shows ${gpus === 0 ? "none" : gpus}`,
    advice:
      "runs that need a GPU would come here and fail: serve another class (--hardware), or mend what is said of gpu",
  };
}

const count = (gpus: number) => (gpus === 1 ? "1 GPU" : `${gpus} GPUs`);

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
