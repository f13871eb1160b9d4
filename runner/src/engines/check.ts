/** What `auspex-runner check` says about containers: in words, and with advice. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import Dockerode from "dockerode";
import { z } from "zod";
import type { Finding } from "../finding.ts";
import { firewallProblem, UNFENCED, UNFENCED_ADVICE } from "./firewall.ts";
import { listOwned } from "./folder.ts";
import {
  DEFAULT_SOCKET,
  type DockerOptions,
  type EngineOptions,
  type ProcessOptions,
} from "./options.ts";
import { UNISOLATED } from "./process.ts";

/** GET /info, as far as it matters here. */
const info = z.object({
  ServerVersion: z.string(),
  Driver: z.string(),
  DockerRootDir: z.string(),
  OperatingSystem: z.string().default("unknown"),
  Runtimes: z.record(z.string(), z.unknown()).default({}),
});
type Info = z.infer<typeof info>;

export function checkEngine(options: EngineOptions): Promise<Finding[]> {
  return options.kind === "docker" ? checkDocker(options) : checkProcess(options);
}

async function checkDocker(options: DockerOptions): Promise<Finding[]> {
  const socketPath = options.socket ?? DEFAULT_SOCKET;
  try {
    const found = info.parse(await new Dockerode({ socketPath, timeout: 5_000 }).info());
    const findings = [checkVersion(found), checkStorage(found)];
    if (options.gpus !== "never") findings.push(checkGpus(found, options.gpus === "always"));
    return [...findings, await checkFirewall(options.firewall === "off")];
  } catch (error) {
    const detail = `Docker does not answer at ${socketPath}: ${String(error)}`;
    const advice = "start Docker, give this user access to its socket, or use --engine process";
    return [{ ok: false, name: "docker", detail, advice }];
  }
}

const checkVersion = ({ ServerVersion, OperatingSystem }: Info): Finding => ({
  ok: true,
  name: "docker",
  detail: `version ${ServerVersion} on ${OperatingSystem}`,
});

function checkStorage({ Driver, DockerRootDir }: Info): Finding {
  const detail = `images are kept by ${Driver} in ${DockerRootDir}`;
  if (Driver !== "vfs") return { ok: true, name: "docker storage", detail };
  const advice = "vfs copies every layer whole: set Docker up with overlay2";
  return { ok: true, name: "docker storage", detail, advice };
}

function checkGpus({ Runtimes }: Info, needed: boolean): Finding {
  const name = "nvidia container toolkit";
  if ("nvidia" in Runtimes) return { ok: true, name, detail: "Docker has the runtime nvidia" };
  const detail = "Docker has no runtime nvidia: images that need GPUs will not start";
  const advice = "on a machine with GPUs: install it, then nvidia-ctk runtime configure";
  return { ok: !needed, name, detail, advice };
}

async function checkFirewall(off: boolean): Promise<Finding> {
  const name = "container firewall";
  if (off) return { ok: true, name, detail: `switched off: ${UNFENCED}` };
  const problem = await firewallProblem();
  if (problem === undefined) {
    return { ok: true, name, detail: "containers reach the public internet only" };
  }
  return { ok: false, name, detail: `${UNFENCED}: ${problem}`, advice: UNFENCED_ADVICE };
}

async function checkProcess({ models }: ProcessOptions): Promise<Finding[]> {
  const isolation = { ok: true, name: "isolation", detail: UNISOLATED };
  const name = "models folder";
  try {
    await access(models, constants.R_OK);
    const names = await listOwned(models);
    const detail = `${models} holds ${names.length > 0 ? names.join(", ") : "no model"}`;
    if (names.length > 0) return [isolation, { ok: true, name, detail }];
    const advice = "a model is a folder {owner}/{name} in it with an auspex.json";
    return [isolation, { ok: true, name, detail, advice }];
  } catch (error) {
    const detail = `${models} cannot be used: ${String(error)}`;
    return [isolation, { ok: false, name, detail, advice: "name a readable folder with --models" }];
  }
}
