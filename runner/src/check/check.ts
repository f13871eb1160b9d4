/** `auspex-runner check`: examines this machine, and says what is wrong and how to fix it. */
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { z } from "zod";
import { problemDetail } from "../control-plane/json-client.ts";
import type { Device, DeviceSource } from "../devices/device.ts";
import { messageOf } from "../lib/error.ts";
import { type HttpAnswer, open, readAnswer } from "../lib/http-client.ts";
import type { Settings } from "../settings/read-settings.ts";
import { checkClass, checkGpus, type Finding } from "./gpus.ts";

/** Images with weights are rarely smaller. */
const MIN_DISK_GB = 20;
/** Beyond this, signed URLs and certificates start to fail. */
const MAX_SKEW_MS = 5_000;
const PROBE_TIMEOUT_MS = 10_000;

export async function checkMachine(
  config: Settings,
  source: DeviceSource,
  engine: (gpus: Device[]) => Promise<Finding[]>,
): Promise<Finding[]> {
  const disk = config.models ?? "/var/lib/docker";
  const gpus = await checkGpus(source);
  const findings = await Promise.all([
    checkNode(process.versions.node),
    gpus.finding,
    checkDisk(existsSync(disk) ? disk : "/"),
    checkControlPlane(config, gpus.usable),
    engine(gpus.usable).catch((error: unknown) => [
      { ok: false, name: "engine", detail: messageOf(error) },
    ]),
  ]);
  return findings.flat();
}

export function checkNode(version: string): Finding {
  const ok = Number.parseInt(version, 10) >= 22;
  const advice = ok ? undefined : "install Node.js 22 or later";
  return { ok, name: "node", detail: version, advice };
}

/** Every command but `check` calls this; `check` reports the version of Node.js with its other findings. */
export function assertNode(version: string): void {
  const { ok, advice } = checkNode(version);
  if (!ok) throw new Error(`Node.js ${version} is too old: ${advice}`);
}

async function checkDisk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const free = Math.floor((bavail * bsize) / 1024 ** 3);
  const detail = `${free} GB free at ${folder}`;
  if (free >= MIN_DISK_GB) return { ok: true, name: "disk", detail };
  return { ok: free > 0, name: "disk", detail, advice: "free disk space: model images are large" };
}

/** Checks each class of this machine. Findings that are not about a class are the same for all. */
export async function checkControlPlane(
  { hardware, ...service }: Pick<Settings, "url" | "token" | "hardware">,
  gpus: readonly Device[],
): Promise<Finding[]> {
  const answers = await Promise.all(
    hardware.map((one) => requestClass({ ...service, hardware: one }, gpus)),
  );
  const [first = [], ...others] = answers.map(({ findings }) => findings);
  const ofClasses = others.flat().filter(({ name }) => name === "hardware");
  return [
    ...first,
    ...ofClasses,
    ...checkPools(answers.flatMap(({ classPool = [] }) => classPool)),
  ];
}

interface ClassPool {
  hardware: string;
  pool: string;
}

/** The control plane refuses a runner whose classes stand in several pools. */
function checkPools(classPools: ClassPool[]): Finding[] {
  if (new Set(classPools.map(({ pool }) => pool)).size < 2) return [];
  const detail = classPools
    .map(({ hardware, pool }) => `${hardware} is in the pool ${pool}`)
    .join(", ");
  const advice = "use classes of one pool (--hardware), or put them in one pool at /fleet/hardware";
  return [{ ok: false, name: "hardware", detail, advice }];
}

/**
 * Requests a hardware class: 401 and 403 are about the token, and the Date header is the server's
 * clock.
 */
async function requestClass(
  { url, token, hardware }: { url: string; token: string; hardware: string },
  gpus: readonly Device[],
): Promise<{ findings: Finding[]; classPool?: ClassPool }> {
  const sentAt = Date.now();
  try {
    const message = await open(
      new URL(`${url}/v1/runner/hardware/${encodeURIComponent(hardware)}`),
      {
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
      },
    );
    const response = await readAnswer(message);
    const { body: text } = response;
    const answer = checkAnswer(url, response, problemDetail(response.status, text));
    const clock = checkClock(response.headers.date, (sentAt + Date.now()) / 2);
    if (isForeignService(response)) return { findings: [answer, clock] };
    if (response.status !== 200) {
      const reasons = explainStatus(response.status, problemDetail(response.status, text));
      return { findings: [answer, ...reasons, clock] };
    }
    const described = JSON.parse(text);
    const { pool } = served.parse(described);
    const findings = [answer, ACCEPTED, checkClass(described, hardware, gpus), clock];
    return { findings, classPool: { hardware, pool } };
  } catch (error) {
    const advice = "check the URL, DNS, and that this machine can make outbound HTTPS requests";
    const detail = `${url}: ${messageOf(error)}`;
    return { findings: [{ ok: false, name: "control plane", detail, advice }] };
  }
}

/**
 * Whether the answer is not from an Auspex deployment, which always answers with JSON, also for an
 * unknown hardware class.
 */
function isForeignService({ status, headers }: HttpAnswer): boolean {
  if (status >= 300 && status < 400) return true;
  return (status === 200 || status === 404) && !headers["content-type"]?.includes("json");
}

function checkAnswer(url: string, response: HttpAnswer, detail: string): Finding {
  const name = "control plane";
  const { status } = response;
  if (status >= 500) {
    const advice = "the deployment has an internal error: see its logs";
    return { ok: false, name, detail: `${url} responded with ${status}: ${detail}`, advice };
  }
  if (isForeignService(response)) {
    const advice = "use the URL of the deployment, without a path";
    return {
      ok: false,
      name,
      detail: `${url} is not an Auspex deployment: it responded with ${status}`,
      advice,
    };
  }
  const { protocol, hostname } = new URL(url);
  const plain = protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  const advice = plain ? "use https: the token is sent unencrypted" : undefined;
  return { ok: true, name, detail: `${url} is reachable`, advice };
}

const served = z.object({ pool: z.string() });

const ACCEPTED: Finding = { ok: true, name: "token", detail: "accepted" };

/** Why a class was not described: because of the token, or of the class if the token is valid. */
function explainStatus(status: number, detail: string): Finding[] {
  const name = "hardware";
  switch (status) {
    case 401:
      return [
        {
          ...ACCEPTED,
          ok: false,
          detail,
          advice: "create a runner token in the deployment's dashboard",
        },
      ];
    case 403: {
      const advice =
        "use a class that the token covers (--hardware), or create a token for this one";
      return [ACCEPTED, { ok: false, name, detail, advice }];
    }
    case 404: {
      const advice =
        "use a class of the deployment (--hardware), or add this one at /fleet/hardware";
      return [ACCEPTED, { ok: false, name, detail, advice }];
    }
    default:
      return [];
  }
}

/** The header has whole seconds, so it is half a second old on average. */
export function checkClock(date: string | undefined, now: number): Finding {
  const skew = date === undefined ? Number.NaN : now - (Date.parse(date) + 500);
  if (Number.isNaN(skew))
    return { ok: true, name: "clock", detail: "the response has no Date header" };
  const detail = `${(Math.abs(skew) / 1000).toFixed(1)} s ${skew > 0 ? "ahead" : "behind"}`;
  const advice = "enable time synchronization (timedatectl set-ntp true)";
  return {
    ok: true,
    name: "clock",
    detail,
    advice: Math.abs(skew) > MAX_SKEW_MS ? advice : undefined,
  };
}

/** Returns one line per finding, followed by its advice. */
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
